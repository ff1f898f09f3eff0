package suite

// CountsOn is what the tests of the package beside this one need of it.
var CountsOn = countsOn
