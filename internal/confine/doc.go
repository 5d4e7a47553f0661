// Package confine runs a stranger's code with next to nothing: it makes system
// call filters, and runs a tool as a process that may work on a private folder
// and nothing else.
//
// Command is the starting side (the agent), Launch the started one, inside a
// small life of the render child's program before it becomes the tool. A tool
// has no new privileges, no sockets and no capability to make any (seccomp, by
// a list of what is allowed), sees its private folder, its own program's folder
// and the system's programs and libraries (Landlock), cannot leave its process
// group, and may use 512 MiB and 64 processes together. The group is killed at
// the end, whatever it is. Linux on amd64 and arm64 only; elsewhere everything
// fails.
package confine
