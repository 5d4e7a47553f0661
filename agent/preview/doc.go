// Package preview works out what a service would change if it were made of
// something else: it brings the files, renders and compares them as that
// service. agent/poll calls it with what the hub listed and sends the answer.
//
// It writes nothing and keeps nothing but the files in the cache. The permit is
// the previewed service's own, so that what is looked up, and as whom, is what a
// pass would; values that a render reads of Secrets are hidden in the answer.
// An answer always comes, with an error in it when there is no comparison,
// unless the API server or the hub is away: then the caller tries again.
package preview
