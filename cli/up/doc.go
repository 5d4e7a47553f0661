// Package up makes axle up and axle down: from an empty folder to a repository that
// declares a fleet, a control plane that is installed from it, and a management cluster
// that follows it.
//
// It renders the files below skeleton with the answers, commits them as one commit that
// holds nothing else, and runs other commands of axle, such as install and apply, which
// package cli passes. The commit is the base of later merges: axle up upgrade puts the
// newer skeleton on top of it, and Git merges that with what people changed since.
//
// axle down goes the other way: first what was declared, while the operator is there to
// let go of it, and then the control plane. It changes nothing in the repository.
//
// It stores the answers, without secrets, in .axle/up.yaml of the repository. How far a
// run came is stored nowhere: each step looks at what is real, in the folder, in the
// repository upstream, in the cluster and in the hub.
//
// Invariants: nothing is written before the preflight passed. A folder or a repository
// with other content is refused as a whole. A file that exists is never overwritten. A run
// that was interrupted anywhere goes on when it is run again. No secret is written, printed
// or passed in an argument.
package up
