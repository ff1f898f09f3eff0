// Package virtual creates IPVS virtual servers and reads them back. New ones are
// created in batches (batch.go), later changes go through a library (server.go);
// drain.go drains removed real servers.
package virtual
