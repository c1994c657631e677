package fields

const DictionaryLongest = dictionaryLong
