// Package confine runs untrusted code with minimal rights. It builds system call
// filters, and runs a tool as a process that can only work on a private folder.
//
// Command is the starting side (the agent). Launch is the started side: the program
// of the render child runs it briefly before it becomes the tool. A tool gains no
// privileges, has no sockets and no capabilities to create any (seccomp, with an
// allow list), and sees only its private folder, its own program's folder and the
// system's programs and libraries (Landlock). It cannot leave its process group, and
// its processes together may use 512 MiB and number 64. At the end the group is
// killed in any case. Linux on amd64 and arm64 only; on other systems everything
// fails.
package confine
