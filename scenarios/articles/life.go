package articles

var life = Article{}
