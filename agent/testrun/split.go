package testrun

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Annotations of tests. The hook of Helm is read where ours is missing.
const (
	// HookAnnotation marks a test: its value is then Test.
	HookAnnotation = "axle-cd.github.io/hook"
	// RetriesAnnotation is how often a test that failed runs again, 0 to 10.
	RetriesAnnotation = "axle-cd.github.io/test-retries"
	// OptionalAnnotation, when "true", lets dependents go on although the test
	// failed.
	OptionalAnnotation = "axle-cd.github.io/test-optional"
	// WeightAnnotation orders tests, lowest first.
	WeightAnnotation = "axle-cd.github.io/hook-weight"

	// runAnnotation names the attempt that an object in the cluster is.
	runAnnotation = "axle-cd.github.io/test-run"
	// serviceLabel is on every object of a test; it is not the label that
	// selects the watches of what was synced.
	serviceLabel = "axle-cd.github.io/test-of"
)

const (
	maxRetries = 10
	// defaultLimit is how long a test may take that does not say, and limitGrace
	// what one that does gets on top: the Job's own verdict comes first.
	defaultLimit = 10 * time.Minute
	limitGrace   = 30 * time.Second
	maxLimit     = 24 * time.Hour
)

// IsTest reports whether an object is a test, or something that only tests
// need.
func IsTest(object *unstructured.Unstructured) bool {
	annotations := object.GetAnnotations()
	if value, ok := annotations[HookAnnotation]; ok {
		return names(value, "test")
	}
	return names(annotations["helm.sh/hook"], "test", "test-success")
}

func names(list string, words ...string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if slices.Contains(words, strings.ToLower(strings.TrimSpace(one))) {
			return true
		}
	}
	return false
}

// Key names files and settings: tests of one key run once. A sync that a person
// asks for is a setting, and runs them again.
func Key(tarball, parts, settings string) string {
	sum := sha256.Sum256([]byte(tarball + "\n" + parts + "\n" + settings))
	return hex.EncodeToString(sum[:8])
}

// Split takes the tests out of what was rendered.
func Split(objects []*unstructured.Unstructured) (tests, rest []*unstructured.Unstructured) {
	for _, o := range objects {
		if IsTest(o) {
			tests = append(tests, o)
		} else {
			rest = append(rest, o)
		}
	}
	return tests, rest
}

// test is what an object says of itself.
type test struct {
	object    *unstructured.Unstructured
	namespace string
	name      string
	kind      string
	weight    int
	attempts  int
	optional  bool
	limit     time.Duration
	// deletePassed and deleteFailed say whether the object goes afterwards.
	deletePassed, deleteFailed bool
}

// runs reports whether an object does something by itself. The others are
// there for those that do.
func runs(object *unstructured.Unstructured) bool {
	gvk := object.GroupVersionKind()
	return gvk.Group == "batch" && gvk.Kind == "Job" || gvk.Group == "" && gvk.Kind == "Pod"
}

func readTest(object *unstructured.Unstructured, namespace string) test {
	annotations := object.GetAnnotations()
	t := test{
		object: object, namespace: cmp.Or(object.GetNamespace(), namespace), name: object.GetName(), kind: object.GetKind(),
		weight: number(cmp.Or(annotations[WeightAnnotation], annotations["helm.sh/hook-weight"]), 0),
		limit:  limitOf(object), optional: annotations[OptionalAnnotation] == "true",
	}
	t.attempts = 1 + min(max(0, number(annotations[RetriesAnnotation], 0)), maxRetries)
	policy := cmp.Or(annotations["axle-cd.github.io/hook-delete-policy"], annotations["helm.sh/hook-delete-policy"])
	t.deletePassed = names(policy, "hook-succeeded", "hooksucceeded", "succeeded")
	t.deleteFailed = names(policy, "hook-failed", "hookfailed", "failed")
	return t
}

func number(text string, otherwise int) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return otherwise
	}
	return n
}

func limitOf(object *unstructured.Unstructured) time.Duration {
	value, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "activeDeadlineSeconds")
	var seconds int64
	switch v := value.(type) {
	case int64:
		seconds = v
	case float64:
		seconds = int64(v)
	}
	if seconds <= 0 {
		return defaultLimit
	}
	return min(time.Duration(seconds)*time.Second, maxLimit) + limitGrace
}

// groups orders tests by weight; those of one weight run together.
func groups(tests []test) [][]int {
	order := make([]int, len(tests))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(tests[a].weight, tests[b].weight), cmp.Compare(tests[a].namespace, tests[b].namespace), cmp.Compare(tests[a].name, tests[b].name))
	})
	var all [][]int
	for i, n := range order {
		if i == 0 || tests[order[i-1]].weight != tests[n].weight {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], n)
	}
	return all
}
