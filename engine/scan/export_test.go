package scan

var BindTerms = bindTerms
