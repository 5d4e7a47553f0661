package kubeobj

import "k8s.io/apimachinery/pkg/types"

// Expected is an object as it was left by the last apply: what a live one is
// compared with.
type Expected struct {
	Ref     Ref
	Kind    Kind
	Service string
	UID     types.UID
	Print   Fingerprint
	// Once says that the object is never put back: a hook, or work that ends.
	Once bool
	// Strict says that what people's tools wrote is taken back too; else it is
	// only reported.
	Strict bool
	// Held says that nothing can be said now: the service's apply has not ended.
	Held bool
	// Paused says that nothing of the service is written now: what differs is
	// shown.
	Paused bool
}
