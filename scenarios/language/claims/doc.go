// Package claims reads the expect and fault blocks: what each may hold, and which claims about a lab
// it makes. Where a claim could not be judged, it is rejected here.
//
// The lab is resolved before it. Package expect judges the claims. Start reading at expects.go,
// then targets.go; expecttable.go lists what an expect block may hold.
package claims
