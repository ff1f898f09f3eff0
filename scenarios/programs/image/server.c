// A web server in a few lines, for programs/image.hcl. It needs nothing: no library, no shell.
//
// It answers every request on the port of $PORT with the page that it finds in index.html, in
// its working directory, and says in a header what $GREETING is.

enum { AF_INET = 2, SOCK_STREAM = 1, SOL_SOCKET = 1, SO_REUSEADDR = 2, AT_FDCWD = -100 };

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, CLOSE = 3, SOCKET = 41, ACCEPT = 43, BIND = 49, LISTEN = 50, SETSOCKOPT = 54, EXIT = 60, OPENAT = 257 };
static long call(long n, long a, long b, long c, long d, long e) {
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return n;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call serve\n");
#elif defined(__aarch64__)
enum { OPENAT = 56, CLOSE = 57, READ = 63, WRITE = 64, EXIT = 93, SOCKET = 198, BIND = 200, LISTEN = 201, ACCEPT = 202, SETSOCKOPT = 208 };
static long call(long n, long a, long b, long c, long d, long e) {
	register long x8 __asm__("x8") = n, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return x0;
}
__asm__(".globl _start\n_start: mov x0, sp\n bl serve\n");
#endif

static char page[4096], request[4096];

static long length(const char *s) {
	long n = 0;
	while (s[n]) n++;
	return n;
}

static void say(long to, const char *s) { call(WRITE, to, (long)s, length(s), 0, 0); }

static void fail(const char *why) {
	say(2, why);
	call(EXIT, 1, 0, 0, 0, 0);
}

// variable is the value of an environment variable, named with its equals sign.
static const char *variable(char **env, const char *name) {
	for (; *env; env++) {
		long i = 0;
		while (name[i] && (*env)[i] == name[i]) i++;
		if (!name[i]) return *env + i;
	}
	return "";
}

// serve is given the stack: the number of arguments, the arguments, the environment.
void serve(long *stack) {
	char **env = (char **)(stack + *stack + 2);
	unsigned port = 0;
	for (const char *p = variable(env, "PORT="); *p; p++) port = port * 10 + (*p - '0');
	unsigned char address[16] = {AF_INET, 0, port >> 8, port};
	long file = call(OPENAT, AT_FDCWD, (long)"index.html", 0, 0, 0);
	if (file < 0) fail("there is no index.html\n");
	long size = call(READ, file, (long)page, sizeof page, 0, 0);
	int one = 1;
	long s = call(SOCKET, AF_INET, SOCK_STREAM, 0, 0, 0);
	call(SETSOCKOPT, s, SOL_SOCKET, SO_REUSEADDR, (long)&one, sizeof one);
	if (call(BIND, s, (long)address, sizeof address, 0, 0) < 0 || call(LISTEN, s, 64, 0, 0, 0) < 0) fail("cannot listen\n");
	say(1, "listening\n");
	for (;;) {
		long c = call(ACCEPT, s, 0, 0, 0, 0);
		if (c < 0) continue;
		if (call(READ, c, (long)request, sizeof request, 0, 0) > 0) {
			say(c, "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\nX-Greeting: ");
			say(c, variable(env, "GREETING="));
			say(c, "\r\n\r\n");
			call(WRITE, c, (long)page, size, 0, 0);
		}
		call(CLOSE, c, 0, 0, 0, 0);
	}
}
