package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/hashchain"
)

// ResultOK is the result of a successful call.
const ResultOK = "ok"

// The limits of a record, in bytes: of a text, of a spec, of one detail.
const (
	maxText   = 1024
	maxSpec   = 64 << 10
	maxDetail = 4096
	// maxList limits groups and details.
	maxList = 100
)

// Record is one action that somebody did or tried.
type Record struct {
	// At is microseconds since 1970 UTC; zero is now.
	At int64 `json:"at"`
	// Actor is the caller's name, ActorKind their identity.Kind, ActorID their
	// id.
	Actor     string `json:"actor,omitempty"`
	ActorKind string `json:"actor_kind,omitempty"`
	ActorID   string `json:"actor_id,omitempty"`
	// AsUser and AsGroups are the identity that a cluster's API server saw;
	// empty for calls to the hub itself.
	AsUser   string   `json:"as_user,omitempty"`
	AsGroups []string `json:"as_groups,omitempty"`
	// TokenID is the token or session of the caller.
	TokenID string `json:"token_id,omitempty"`
	// Source is the address that the call came from.
	Source string `json:"source,omitempty"`
	// Action is the RPC's procedure or "kubernetes"; Verb is the Kubernetes
	// verb (get, list, exec, …) or the Action of identity.
	Action string `json:"action"`
	Verb   string `json:"verb,omitempty"`
	// ProjectID and ClusterID are the scope of the object.
	ProjectID string `json:"project_id,omitempty"`
	ClusterID string `json:"cluster_id,omitempty"`
	// The object: kind, namespace and name; for Kubernetes the resource with
	// its subresource.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Result is "ok", or a code of errcode; Status is the HTTP status of a
	// cluster's answer.
	Result string `json:"result"`
	Status int    `json:"status,omitempty"`
	// Before and After are the object's spec as JSON with secrets masked.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Detail holds more facts: an exec's command, bytes in both directions, the
	// duration.
	Detail map[string]string `json:"detail,omitempty"`
}

// Columns are the fields of a record that queries filter by.
type Columns struct {
	At                                           int64
	Actor, ClusterID, Action, Kind, Name, Result string
}

func (r Record) columns() Columns {
	return Columns{At: r.At, Actor: r.Actor, ClusterID: r.ClusterID, Action: r.Action, Kind: r.Kind, Name: r.Name, Result: r.Result}
}

// bounded returns the record with texts that both databases accept, within the
// limits.
func (r Record) bounded() Record {
	for _, text := range []*string{
		&r.Actor, &r.ActorKind, &r.ActorID, &r.AsUser, &r.TokenID, &r.Source, &r.Action, &r.Verb,
		&r.ProjectID, &r.ClusterID, &r.Kind, &r.Namespace, &r.Name, &r.Result,
	} {
		*text = bound(*text, maxText)
	}
	r.Before, r.After = bound(r.Before, maxSpec), bound(r.After, maxSpec)
	groups := slices.Clone(r.AsGroups[:min(len(r.AsGroups), maxList)])
	for i := range groups {
		groups[i] = bound(groups[i], maxText)
	}
	r.AsGroups = groups
	var detail map[string]string
	for _, key := range slices.Sorted(maps.Keys(r.Detail)) {
		if detail == nil {
			detail = map[string]string{}
		}
		if len(detail) < maxList {
			detail[bound(key, maxText)] = bound(r.Detail[key], maxDetail)
		}
	}
	r.Detail = detail
	return r
}

// bound returns clean text of at most n bytes, with a mark where it was cut.
func bound(text string, n int) string {
	if len(text) > n {
		text = fmt.Sprintf("%s… (%d bytes)", text[:n], len(text))
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// encode returns the canonical form of the record, which is hashed.
func (r Record) encode() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode an audit record: %w", err)
	}
	return text, nil
}

// Row is a record with its position in the chain.
type Row struct {
	hashchain.Line
	Columns Columns
}

// Open returns the row's record.
func (r Row) Open() (Record, error) {
	var record Record
	if err := json.Unmarshal(r.Line.Record, &record); err != nil {
		return record, fmt.Errorf("read audit record %d: %w", r.Sequence, err)
	}
	return record, nil
}
