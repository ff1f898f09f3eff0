// Package zone is the vocabulary of DNS: records, what a name server answers from them
// (answer.go), and what a resolver asks it (resolver.go).
//
// A running name server and the prediction of a lookup on paper use the same Index, so that
// they cannot disagree about what is in it. Names are in lower case, without the dot at the
// end. The package knows neither where the records come from nor how messages are encoded.
package zone
