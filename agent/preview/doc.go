// Package preview computes what a service would change if it used other content: it
// fetches the files, renders them and compares the objects, as that service.
// agent/poll calls it with the requests in the hub's list and sends the answer.
//
// It writes nothing and keeps only the files in the cache. It uses the permit of the
// previewed service, so that lookups see what a pass would see, with the same
// account. Values that a render reads from Secrets are hidden in the answer. There is
// always an answer, with an error in it if there is no comparison, unless the API
// server or the hub is unavailable; then the caller tries again.
package preview
