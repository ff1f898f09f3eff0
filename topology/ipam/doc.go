// Package ipam allocates addresses, ports and blocks of a prefix. What a key gets depends
// on the key alone, as far as possible, so that adding a pod renumbers no other.
//
// It knows pools and keys, but not what they are for.
package ipam
