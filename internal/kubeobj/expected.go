package kubeobj

import "k8s.io/apimachinery/pkg/types"

// Expected is an object as the last apply left it, which live objects are compared
// with.
type Expected struct {
	Ref     Ref
	Kind    Kind
	Service string
	UID     types.UID
	Print   Fingerprint
	// Once says that the object is never healed: a hook, or work that ends.
	Once bool
	// Unrun says that what is there once has not been there yet for this revision.
	Unrun bool
	// Strict says that changes by people's tools are reverted too; otherwise they are
	// only reported.
	Strict bool
	// Held says that nothing can be judged now: the service's apply has not ended.
	Held bool
	// Lost are fields left to others that have the value of Git; see ignore.Filled.
	Lost string
	// Paused says that nothing of the service is written now; differences are shown.
	Paused bool
}
