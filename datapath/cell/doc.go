// Package cell runs the programs of a scenario where they can do the machine no harm,
// whoever wrote the scenario.
//
// A program that runs in a cell is root in a user namespace of its own, and nobody
// outside: also when netlab is root. It sees the programs and libraries of the machine,
// read-only; private and empty, what may hold secrets or what others left (/root, /home,
// /run, /tmp, /var); no devices but those that hold nothing (/dev/null and the like); the
// processes of its own PID namespace. It cannot gain privileges (no_new_privs), reach the
// parts of the kernel that escapes are made of (seccomp), or take more than some memory,
// processes and files. In the network namespace of its pod it opens any port; it changes
// interfaces and rules there only with net_admin.
//
// A pod may have an image's files in place of the machine's (image.go): then it may change
// them, since what it writes is a layer of its own.
//
// Files builds what a pod has for itself, Wall or WallImage what a program in it sees; Start begins the
// process, which finishes its cell from inside (Main) before it becomes the program.
//
// The package knows nothing of plans beyond the files of a program, nor of labs.
package cell
