package articles

var rules = Article{}
