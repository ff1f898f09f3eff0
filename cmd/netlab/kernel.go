package main

// kernelVerbs are the commands that need a Linux kernel, each with what it is for. On
// other systems all there is of them is this list, so that help shows the same everywhere.
var kernelVerbs = []struct{ name, short string }{
	{"up", "Make the running lab equal to a scenario"},
	{"down", "Remove a lab"},
	{"ps", "List the labs of this user"},
	{"inspect", "Show everything in a lab: addresses, interfaces, services and their endpoints"},
	{"exec", "Run a command in a node, pod or client"},
	{"shell", "Open your shell in a node, pod or client"},
	{"logs", "Show what the programs of pods wrote"},
	{"kubectl", "Run kubectl with a lab as its cluster"},
	{"api", "Serve the Kubernetes API of a lab on loopback, read only"},
	{"status", "Show what in the kernel has drifted from the plan"},
	{"doctor", "Show what this kernel can do, and how to get the rest"},
	{"bench", "Compare netlab with a bare loop that makes the same kernel objects"},
	{"rules", "Show the programmed rules, each with the object and the line that it serves"},
	{"vm", "Run commands in a small virtual machine with a full kernel"},
}
