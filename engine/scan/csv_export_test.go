package scan

const dictionaryLongest = dictionaryLong
