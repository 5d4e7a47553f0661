package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
)

// maxLookups bounds the lookups of one pass: each is a request to the API server.
const maxLookups = 1000

// answers calls the caller's Lookup, once per key and pass, and remembers the
// results.
type answers struct {
	lookup Lookup
	found  map[LookupKey]*renderv1.LookupAnswer
	reads  []Read
}

func newAnswers(lookup Lookup) *answers {
	return &answers{lookup: lookup, found: map[LookupKey]*renderv1.LookupAnswer{}}
}

func (a *answers) answer(ctx context.Context, q *renderv1.Lookup) *renderv1.LookupAnswer {
	key := LookupKey{APIVersion: q.GetApiVersion(), Kind: q.GetKind(), Namespace: q.GetNamespace(), Name: q.GetName()}
	if known, ok := a.found[key]; ok {
		return known
	}
	answer := &renderv1.LookupAnswer{}
	state := "absent"
	switch {
	case len(a.found) >= maxLookups:
		answer.Error = fmt.Sprintf("more than %d lookups in one pass", maxLookups)
	case a.lookup != nil:
		object, err := a.lookup.Lookup(ctx, key)
		if err != nil {
			answer.Error = err.Error()
			break
		}
		answer.Object = object
		state = StateOf(object)
	}
	a.found[key] = answer
	a.reads = append(a.reads, Read{Key: key, State: state})
	return answer
}

// StateOf is the state that a Read records for a lookup's result, so that a caller
// can look it up again later and compare.
func StateOf(object []byte) string {
	if len(object) == 0 {
		return "absent"
	}
	type identity struct {
		Metadata struct {
			Namespace       string `json:"namespace"`
			Name            string `json:"name"`
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	var seen struct {
		identity
		Items *[]identity `json:"items"`
	}
	if err := json.Unmarshal(object, &seen); err != nil {
		sum := sha256.Sum256(object)
		return "hash/" + hex.EncodeToString(sum[:8])
	}
	if seen.Items == nil {
		return seen.Metadata.UID + "/" + seen.Metadata.ResourceVersion
	}
	var items []string
	for _, item := range *seen.Items {
		items = append(items, item.Metadata.UID+"/"+item.Metadata.ResourceVersion)
	}
	slices.Sort(items)
	sum := sha256.Sum256([]byte(strings.Join(items, "\n")))
	return "list/" + hex.EncodeToString(sum[:8])
}
