package articles

var modes = Article{}
