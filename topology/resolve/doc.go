// Package resolve turns a lab as written into a lab as resolved: names are looked up,
// defaults filled in, and every address, MAC, VNI and port is decided. It is pure, and
// after it nothing is optional and nothing is defaulted again.
//
// All problems are reported together, each with the smallest place that shows it
// and with what to write instead (draft/report.go). Checks are those of the Kubernetes API
// server where it has some. Start reading at resolve.go; then there is a file per subject, and
// a package for services and for policies.
package resolve
