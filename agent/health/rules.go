package health

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/kubehealth"
)

// Judge judges the health of an object. It is safe for concurrent use.
type Judge interface {
	Judge(object *unstructured.Unstructured) Result
}

// Custom is one rule that a user wrote.
type Custom struct {
	// Name is the rule's namespace/name, for messages.
	Name string
	// Kind is the kind it judges. Without a version it applies to every version of
	// the kind; without a kind, to every kind that has no other rule.
	Kind schema.GroupVersionKind
	Rule Judge
}

// Rules are the rules of users before and after the built-in ones. In order: a rule
// for the exact kind, the built-in kinds, a rule without a kind, kstatus. The zero
// value and nil have only the built-in rules. Replace is safe during concurrent use.
type Rules struct {
	custom atomic.Pointer[customRules]
}

// customRules never changes once it is in use.
type customRules struct {
	byKind    map[schema.GroupVersionKind]Judge
	groupKind map[schema.GroupKind]bool
	rest      Judge
}

// Replace replaces all earlier rules at once. Of two rules for one kind the first in
// the list is used; it returns the names of the others.
func (r *Rules) Replace(list []Custom) (shadowed []string) {
	next := &customRules{byKind: map[schema.GroupVersionKind]Judge{}, groupKind: map[schema.GroupKind]bool{}}
	for _, c := range list {
		switch {
		case c.Kind.Kind == "" && next.rest == nil:
			next.rest = c.Rule
		case c.Kind.Kind == "" || next.byKind[c.Kind] != nil:
			shadowed = append(shadowed, c.Name)
		default:
			next.byKind[c.Kind] = c.Rule
			next.groupKind[c.Kind.GroupKind()] = true
		}
	}
	r.custom.Store(next)
	return shadowed
}

func (r *Rules) now() *customRules {
	if r == nil {
		return &customRules{}
	}
	if custom := r.custom.Load(); custom != nil {
		return custom
	}
	return &customRules{}
}

// exact returns the rule for the exact kind, or the one for all its versions.
func (c *customRules) exact(kind schema.GroupVersionKind) Judge {
	if judge := c.byKind[kind]; judge != nil {
		return judge
	}
	return c.byKind[kind.GroupKind().WithVersion("")]
}

// HasRule reports whether the kind's health depends on more than its existence, so
// that whole objects must be read.
func (r *Rules) HasRule(kind schema.GroupKind) bool {
	return r.now().groupKind[kind] || HasRule(kind)
}

// Custom reports whether a rule of a user may judge objects of the kind.
func (r *Rules) Custom(kind schema.GroupKind) bool {
	custom := r.now()
	return custom.groupKind[kind] || custom.rest != nil && !kubehealth.HasRule(kind) && HasRule(kind)
}

// Of judges one object. An object that is being deleted is always Progressing.
func (r *Rules) Of(object *unstructured.Unstructured) Result {
	if object == nil || len(object.Object) == 0 {
		return Result{Status: Missing}
	}
	object = kubehealth.Integral(object)
	kind := object.GroupVersionKind()
	if kind.Kind == "" {
		return Result{Status: Unknown, Message: "the object has no kind"}
	}
	if object.GetDeletionTimestamp() != nil {
		return Result{Status: Progressing, Message: "pending deletion"}
	}
	custom := r.now()
	if judge := custom.exact(kind); judge != nil {
		return judge.Judge(object)
	}
	if !HasRule(kind.GroupKind()) {
		return Result{Status: Healthy}
	}
	if kubehealth.HasRule(kind.GroupKind()) {
		return kubehealth.Of(object)
	}
	if custom.rest != nil {
		return custom.rest.Judge(object)
	}
	return generic(object)
}
