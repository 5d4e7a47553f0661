package apply

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Annotations of hooks. Those of Argo CD, Helm and Plural are read where ours
// is missing.
const (
	// HookAnnotation names the moments at which an object runs: PreSync, Sync,
	// PostSync, SyncFail, PreDelete, PostDelete, or Skip.
	HookAnnotation = "axle-cd.github.io/hook"
	// HookDeleteAnnotation says when a hook is deleted: BeforeHookCreation
	// (the default), HookSucceeded, HookFailed.
	HookDeleteAnnotation = "axle-cd.github.io/hook-delete-policy"
	// hookRunAnnotation is on a hook's object and names its run, so that an
	// agent that was killed between making it and noting that finds it.
	hookRunAnnotation = "axle-cd.github.io/hook-run"
)

// defaultHookLimit is how long a hook may take that says nothing itself, and
// hookGrace is what one that does gets on top, so that the Job's own verdict
// comes first.
const (
	defaultHookLimit = 10 * time.Minute
	hookGrace        = 30 * time.Second
)

// moment says when an object is applied.
type moment int

const (
	// momentSync is with everything else.
	momentSync moment = iota
	momentBefore
	momentAfter
	// momentFail follows a sync that failed.
	momentFail
	// momentLeaving is before a service's objects are deleted, momentLeft
	// after it.
	momentLeaving
	momentLeft
	// momentNever is applied by no pass: tests, roll backs.
	momentNever
)

// momentNames are what people read.
var momentNames = map[moment]string{momentSync: "Sync", momentBefore: "PreSync", momentAfter: "PostSync", momentFail: "SyncFail",
	momentLeaving: "PreDelete", momentLeft: "PostDelete"}

// hook is what the annotations make of an object.
type hook struct {
	moment moment
	// runs says that the object does its work once for each revision; else it
	// is an ordinary one with a place in the order.
	runs   bool
	policy hookPolicy
	limit  time.Duration
}

// hookPolicy says when a hook's object is deleted.
type hookPolicy int

const (
	deleteBefore hookPolicy = 1 << iota
	deleteSucceeded
	deleteFailed
)

// hookEnd says how a hook's run ended.
type hookEnd int

const (
	hookOpen hookEnd = iota
	hookSucceeded
	hookFailed
)

const pluralHook = "deployment.plural.sh/sync-hook"

// readHook reads the annotations. upgrade says that a revision of the service
// was applied before: it decides for hooks of charts that run at one moment of
// an install and at another of an upgrade.
func readHook(object *unstructured.Unstructured, kind kubeobj.Kind, upgrade bool) hook {
	annotations := object.GetAnnotations()
	key, value, ok := firstOf(annotations, HookAnnotation, pluralHook, "argocd.argoproj.io/hook", "helm.sh/hook")
	if !ok {
		return hook{}
	}
	h := hook{moment: momentOf(value, upgrade), policy: policyOf(annotations), limit: limitOf(object)}
	h.runs = h.moment != momentNever && !strings.EqualFold(strings.TrimSpace(value), "crd-install") && strings.TrimSpace(value) != ""
	if key == pluralHook && !endsByItself(object, kind) {
		// There the annotation orders any object by phase.
		h.runs = false
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

// momentOf reads a list of moments. Of several that name the same situation
// the earliest counts.
func momentOf(value string, upgrade bool) moment {
	install, later := momentNever, momentNever
	early := func(now *moment, m moment) {
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
			early(&install, momentFail)
			early(&later, momentFail)
		case "pre-delete", "predelete":
			early(&install, momentLeaving)
			early(&later, momentLeaving)
		case "post-delete", "postdelete":
			early(&install, momentLeft)
			early(&later, momentLeft)
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
	// Install hooks run on upgrades too and the other way round, unless the
	// hook says what it does in each case.
	if install == momentNever || upgrade && later != momentNever {
		return later
	}
	return install
}

// rank orders moments as they come.
func (m moment) rank() int {
	switch m {
	case momentBefore:
		return 0
	case momentSync:
		return 1
	}
	return int(m)
}

// policyOf reads when a hook is deleted; before the next run if nothing is
// said.
func policyOf(annotations map[string]string) hookPolicy {
	_, value, _ := firstOf(annotations, HookDeleteAnnotation, "deployment.plural.sh/sync-hook-delete-policy",
		"argocd.argoproj.io/hook-delete-policy", "helm.sh/hook-delete-policy")
	var p hookPolicy
	for one := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.ReplaceAll(strings.TrimSpace(one), "-", "")) {
		case "beforehookcreation":
			p |= deleteBefore
		case "hooksucceeded", "succeeded":
			p |= deleteSucceeded
		case "hookfailed", "failed":
			p |= deleteFailed
		}
	}
	if p == 0 {
		return deleteBefore
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

// judged reports whether the health of a kind says how a hook of it ended; the
// others have done their work once they are made.
func judged(kind kubeobj.Kind) bool {
	return kind.Group == "batch" && kind.Kind == "Job" || kind.Group == "" && kind.Kind == "Pod"
}
