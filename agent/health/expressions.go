package health

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// Expressions is a rule that a user wrote in CEL. This process does not evaluate it,
// because CEL costs memory even in clusters without such rules. The render child does
// (docs/adr/0037-health-rules-in-cel-are-judged-in-the-child.md).
type Expressions struct {
	// Name is the rule's namespace/name, for messages.
	Name string
	// The first of these that is true gives the status, in this order: Suspended,
	// Progressing, Degraded, Healthy.
	Suspended, InProgress, Failed, Current string
	// Message is an expression that yields a text, or empty.
	Message string
}

// Judge implements the interface for callers that cannot ask the child.
func (e *Expressions) Judge(*unstructured.Unstructured) Result {
	return Result{Status: Unknown, Message: short("rule "+e.Name+" is written in CEL and was not asked", maxMessage)}
}

// Digest differs for different expressions.
func (e *Expressions) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{e.Name, e.Suspended, e.InProgress, e.Failed, e.Current, e.Message}))
	return hex.EncodeToString(sum[:12])
}

// Expressions returns the CEL rule that judges objects of a kind; nil if another rule
// does, which Of knows. An object that is being deleted is Progressing by every rule
// and is not asked about.
func (r *Rules) Expressions(kind schema.GroupVersionKind) *Expressions {
	custom := r.now()
	if judge := custom.exact(kind); judge != nil {
		found, _ := judge.(*Expressions)
		return found
	}
	if gk := kind.GroupKind(); !HasRule(gk) || kubehealth.HasRule(gk) {
		return nil
	}
	found, _ := custom.rest.(*Expressions)
	return found
}
