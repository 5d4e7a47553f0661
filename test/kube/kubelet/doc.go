// Package kubelet is a kubelet for tests that runs pods as processes of this machine.
// It registers one node and takes the pods bound to it. A container of image
// axle.test/<binary>:<version> is the file configured for that name, started with the
// pod's environment, arguments and volumes.
//
// Each container start gets its own mount and process namespaces and its own root:
// the machine's file system below, an in-memory file system above it that takes all
// writes, the volumes and the service account's token at the paths in the pod's spec,
// and all configured binaries in /usr/local/bin, so that a program finds its
// siblings. The network is the machine's: a pod's address is one of 127.0.0.0/8, and
// a program that listens on all addresses competes for the port with every other. The
// user and groups are those of the pod's security contexts, or root; capabilities and
// limits of CPU and memory are not enforced.
//
// Where namespaces are not permitted it falls back to plain processes: mount
// paths that occur in arguments and environment values are rewritten to the
// folders that hold the volumes, and AXLE_POD_ROOT names the folder above
// them. Programs that read fixed paths, as client-go's in-cluster
// configuration does, then find nothing there.
//
// It reports status, restarts and exit codes as a kubelet does, with a shorter
// back-off, and serves logs, exec, attach, port-forward and, as cAdvisor does, what the
// containers use (/metrics/cadvisor). It supports Secret,
// ConfigMap, projected, downward API, emptyDir and hostPath volumes, and claims bound
// to a hostPath volume; it refreshes those from the API every 5 s. It cannot be restarted: its pods end with it. Package
// kube starts it. The caller's Start must tie the life of each process to this one.
package kubelet
