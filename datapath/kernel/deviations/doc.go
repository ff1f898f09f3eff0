// Package deviations notes what no plan lists, and yet differs from what follows from the plan
// of a network namespace: what is foreign, what the kernel had by itself and lacks now, and what
// has another value. Each comes with the command that puts it right, and the requests that do so.
// Who reads a kind of kernel state finds its deviations; package kernel carries out the repairs.
package deviations
