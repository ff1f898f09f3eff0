// The functions of fork.go without a body are those of package syscall; this file lets them
// be declared.
