package articles

var docker = Article{}
