package csv

const DictionaryLongest = dictionaryLong
