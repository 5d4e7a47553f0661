package wave

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Annotations of hooks. Without ours, those of Argo CD, Helm and Plural are used.
const (
	// HookAnnotation names the moments at which an object runs: PreSync, Sync,
	// PostSync, SyncFail, PreDelete, PostDelete, or Skip.
	HookAnnotation = "axle-cd.github.io/hook"
	// HookDeleteAnnotation says when a hook is deleted: BeforeHookCreation
	// (the default), HookSucceeded, HookFailed.
	HookDeleteAnnotation = "axle-cd.github.io/hook-delete-policy"
)

// defaultHookLimit is how long a hook without its own limit may take. hookGrace is
// added for a hook with its own limit, so that the Job reports its failure first.
const (
	defaultHookLimit = 10 * time.Minute
	hookGrace        = 30 * time.Second
)

// Moment says when an object is applied.
type Moment int

const (
	// momentSync is together with all other objects.
	momentSync Moment = iota
	momentBefore
	momentAfter
	// MomentFail is after a failed sync.
	MomentFail
	// MomentLeaving is before a service's objects are deleted, momentLeft after.
	MomentLeaving
	MomentLeft
	// MomentNever is not applied by any pass: tests, rollbacks.
	MomentNever
)

// MomentNames are the names shown to people.
var MomentNames = map[Moment]string{momentSync: "Sync", momentBefore: "PreSync", momentAfter: "PostSync", MomentFail: "SyncFail",
	MomentLeaving: "PreDelete", MomentLeft: "PostDelete"}

// Hook is the parsed annotations of an object.
type Hook struct {
	Moment Moment
	// Runs says that the object does its work once for each revision; otherwise it is
	// an ordinary object with a position in the order.
	Runs   bool
	Policy HookPolicy
	Limit  time.Duration
}

// HookPolicy says when a hook's object is deleted.
type HookPolicy int

const (
	DeleteBefore HookPolicy = 1 << iota
	DeleteSucceeded
	DeleteFailed
)

// HookEnd says how a hook's run ended.
type HookEnd int

const (
	HookOpen HookEnd = iota
	HookSucceeded
	HookFailed
)

const pluralHook = "deployment.plural.sh/sync-hook"

// ReadHook reads the annotations. upgrade says that a revision of the service was
// applied before; this decides for chart hooks with different moments for install and
// upgrade.
func ReadHook(object *unstructured.Unstructured, kind kubeobj.Kind, upgrade bool) Hook {
	annotations := object.GetAnnotations()
	key, value, ok := firstOf(annotations, HookAnnotation, pluralHook, "argocd.argoproj.io/hook", "helm.sh/hook")
	if !ok {
		return Hook{}
	}
	h := Hook{Moment: momentOf(value, upgrade), Policy: policyOf(annotations), Limit: limitOf(object)}
	h.Runs = h.Moment != MomentNever && !strings.EqualFold(strings.TrimSpace(value), "crd-install") && strings.TrimSpace(value) != ""
	if key == pluralHook && !endsByItself(object, kind) {
		// On these kinds the annotation only orders the object by phase.
		h.Runs = false
	}
	return h
}

func firstOf(annotations map[string]string, keys ...string) (key, value string, ok bool) {
	for _, key := range keys {
		if value, ok := annotations[key]; ok {
			return key, value, true
		}
	}
	return "", "", false
}

// momentOf parses a list of moments. If several name the same situation, the earliest
// counts.
func momentOf(value string, upgrade bool) Moment {
	install, later := MomentNever, MomentNever
	early := func(now *Moment, m Moment) {
		if m.rank() < now.rank() {
			*now = m
		}
	}
	for one := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(one)) {
		case "", "sync", "crd-install":
			early(&install, momentSync)
			early(&later, momentSync)
		case "pre-sync", "presync":
			early(&install, momentBefore)
			early(&later, momentBefore)
		case "post-sync", "postsync":
			early(&install, momentAfter)
			early(&later, momentAfter)
		case "sync-fail", "syncfail":
			early(&install, MomentFail)
			early(&later, MomentFail)
		case "pre-delete", "predelete":
			early(&install, MomentLeaving)
			early(&later, MomentLeaving)
		case "post-delete", "postdelete":
			early(&install, MomentLeft)
			early(&later, MomentLeft)
		case "pre-install":
			early(&install, momentBefore)
		case "post-install":
			early(&install, momentAfter)
		case "pre-upgrade":
			early(&later, momentBefore)
		case "post-upgrade":
			early(&later, momentAfter)
		}
	}
	// Install hooks also run on upgrades and vice versa, unless the hook names a
	// moment for each case.
	if install == MomentNever || upgrade && later != MomentNever {
		return later
	}
	return install
}

// rank gives the order of moments in time.
func (m Moment) rank() int {
	switch m {
	case momentBefore:
		return 0
	case momentSync:
		return 1
	}
	return int(m)
}

// policyOf reads when a hook is deleted; by default before the next run.
func policyOf(annotations map[string]string) HookPolicy {
	_, value, _ := firstOf(annotations, HookDeleteAnnotation, "deployment.plural.sh/sync-hook-delete-policy",
		"argocd.argoproj.io/hook-delete-policy", "helm.sh/hook-delete-policy")
	var p HookPolicy
	for one := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.ReplaceAll(strings.TrimSpace(one), "-", "")) {
		case "beforehookcreation":
			p |= DeleteBefore
		case "hooksucceeded", "succeeded":
			p |= DeleteSucceeded
		case "hookfailed", "failed":
			p |= DeleteFailed
		}
	}
	if p == 0 {
		return DeleteBefore
	}
	return p
}

func limitOf(object *unstructured.Unstructured) time.Duration {
	seconds, ok, _ := unstructured.NestedInt64(object.Object, "spec", "activeDeadlineSeconds")
	if !ok {
		f, found, _ := unstructured.NestedFloat64(object.Object, "spec", "activeDeadlineSeconds")
		seconds, ok = int64(f), found
	}
	if !ok || seconds <= 0 || seconds > int64(365*24*time.Hour/time.Second) {
		return defaultHookLimit
	}
	return time.Duration(seconds)*time.Second + hookGrace
}

// endsByItself reports whether an object of the kind does its work and ends.
func endsByItself(object *unstructured.Unstructured, kind kubeobj.Kind) bool {
	switch {
	case kind.Group == "batch" && kind.Kind == "Job":
		return true
	case kind.Group == "" && kind.Kind == "Pod":
		policy, _, _ := unstructured.NestedString(object.Object, "spec", "restartPolicy")
		return policy == "Never" || policy == "OnFailure"
	}
	return false
}

// Judged reports whether the health of a kind tells how a hook of it ended. Other
// kinds are done once they are created.
func Judged(kind kubeobj.Kind) bool {
	return kind.Group == "batch" && kind.Kind == "Job" || kind.Group == "" && kind.Kind == "Pod"
}
