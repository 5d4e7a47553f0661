// Package render is the render child: it turns the files of a service into Kubernetes
// objects, one pass after another.
//
// The agent starts the binary axle-render and exchanges the frames of api/render/v1
// with it. Before it reads anything, the child gives up what it does not need (see
// Confine): new privileges, sockets, programs, files, and memory beyond 512 MiB above
// its initial size. A template's questions about its cluster go through the pipe,
// read-only.
//
// A pass starts from scratch: files, bindings, answers and the state of the renderers
// are new, so a pass cannot see the one before it. A child serves passes of one
// project, one after the other, for at most 100 passes or 60 s.
//
// A pass can also be a batch of objects to be judged by a health rule in CEL (package
// expression), without files; a program without CEL reports that.
//
// Each renderer is a package of its own below this one. Only this package knows them; a
// renderer knows neither the pipe nor the other renderers.
package render
