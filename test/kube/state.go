package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
)

// state is what an API server holds.
type state struct {
	// Keys are those in etcd, below the server's prefix.
	Keys map[string]entry
	// Kinds are the resources that it serves, as group/version/name.
	Kinds []string
}

// entry is one key's value and when it was written.
type entry struct {
	Value    []byte
	Revision int64
}

// volatile says that the API server itself writes a key again and again.
func volatile(key string) bool {
	return strings.HasPrefix(key, "masterleases/") || strings.HasPrefix(key, "peerserverleases/") || strings.HasPrefix(key, "leases/kube-system/apiserver-")
}

// late are what a new API server writes after it says that it is ready.
var late = []string{"services/specs/default/kubernetes", "ipaddresses/" + firstServiceAddress}

// settled reads the state of a new API server once it no longer writes by itself.
func (s *server) settled(ctx context.Context) (*state, error) {
	var first state
	err := eventually.Wait(ctx, startLimit, func() error {
		before := first.Keys
		var err error
		if first.Keys, err = s.entries(ctx, false); err != nil {
			return err
		}
		if changes := difference(before, first.Keys); len(changes) > 0 {
			return fmt.Errorf("it still writes %v", slices.Sorted(maps.Keys(changes)))
		}
		for _, key := range late {
			if _, ok := first.Keys[key]; !ok {
				return fmt.Errorf("it has not written %s yet", key)
			}
		}
		return nil
	})
	if err == nil {
		first.Kinds, err = s.kinds(ctx)
	}
	return &first, err
}

// changed are the keys that are not as they were first.
func (s *server) changed(ctx context.Context) ([]string, error) {
	now, err := s.entries(ctx, true)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(difference(s.first.Keys, now))), nil
}

// difference has each key that one of the two lacks or that was written between them, and
// whether the first has it.
func difference(first, second map[string]entry) map[string]bool {
	changes := map[string]bool{}
	for key, e := range first {
		if now, ok := second[key]; !ok || now.Revision != e.Revision {
			changes[key] = true
		}
	}
	for key := range second {
		if _, ok := first[key]; !ok {
			changes[key] = false
		}
	}
	return changes
}

// reset writes the first state into etcd, as often as it takes until the API server adds
// nothing to it and serves just the kinds that it served then. Its caches follow as they
// follow any write.
func (s *server) reset(ctx context.Context) error {
	first := &state{Keys: maps.Clone(s.first.Keys), Kinds: s.first.Kinds}
	err := eventually.Wait(ctx, giveBackLimit, func() error {
		if err := s.writeBack(ctx, first); err != nil {
			return err
		}
		if err := s.servesFirst(ctx); err != nil {
			return err
		}
		return s.writeBack(ctx, first) // what it wrote while it still served other kinds
	})
	s.first = first
	return err
}

// servesFirst is an error while the kinds are others than at first.
func (s *server) servesFirst(ctx context.Context) error {
	kinds, err := s.kinds(ctx)
	if err == nil && !slices.Equal(kinds, s.first.Kinds) {
		err = fmt.Errorf("it serves %v", kinds)
	}
	return err
}

// kinds asks the API server what it serves.
func (s *server) kinds(ctx context.Context) ([]string, error) {
	client, err := rest.HTTPClientFor(&rest.Config{Host: s.url(), BearerToken: s.token, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem}})
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url()+"/apis", nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version   string
				Resources []struct{ Resource string }
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", resp.Status, req.URL.Path, err)
	}
	var kinds []string
	for _, group := range list.Items {
		for _, version := range group.Versions {
			for _, resource := range version.Resources {
				kinds = append(kinds, group.Metadata.Name+"/"+version.Version+"/"+resource.Resource)
			}
		}
	}
	slices.Sort(kinds)
	return kinds, nil
}

// entries lists the server's keys, with their values or only when they were written.
func (s *server) entries(ctx context.Context, only bool) (map[string]entry, error) {
	prefix := "/" + s.id + "/"
	var answer struct {
		Kvs []struct {
			Key, Value  []byte
			ModRevision int64 `json:"mod_revision,string"`
		}
	}
	err := s.bed.etcdCall(ctx, "range", map[string]any{"key": []byte(prefix), "range_end": []byte("/" + s.id + "0"), "keys_only": only}, &answer)
	keys := map[string]entry{}
	for _, kv := range answer.Kvs {
		if key := strings.TrimPrefix(string(kv.Key), prefix); !volatile(key) {
			keys[key] = entry{Value: kv.Value, Revision: kv.ModRevision}
		}
	}
	return keys, err
}

// writeBack gives each key that has changed its first value, or deletes it if it had none,
// and is an error if there was one. The state gets the revisions.
//
// Each key has a revision of its own. An API server drops a watch that cannot keep up, whose
// client goes on after the last revision that it saw: of several keys with one revision it would
// never see the rest, and a controller in it would make again what was deleted, for ever.
func (s *server) writeBack(ctx context.Context, first *state) error {
	now, err := s.entries(ctx, true)
	if err != nil {
		return err
	}
	changes := difference(first.Keys, now)
	keys := slices.Sorted(maps.Keys(changes))
	for _, key := range keys {
		method, body := "deleterange", map[string]any{"key": []byte("/" + s.id + "/" + key)}
		if changes[key] {
			method, body["value"] = "put", first.Keys[key].Value
		}
		var answer struct {
			Header struct {
				Revision int64 `json:",string"`
			}
		}
		if err := s.bed.etcdCall(ctx, method, body, &answer); err != nil {
			return err
		}
		if changes[key] {
			first.Keys[key] = entry{Value: first.Keys[key].Value, Revision: answer.Header.Revision}
		}
	}
	if len(keys) > 0 {
		return fmt.Errorf("%v had changed", keys)
	}
	return nil
}

// etcdCall calls etcd's JSON interface.
func (b *Bed) etcdCall(ctx context.Context, method string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.etcdURL+"/v3/kv/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s of etcd: %s: %s", method, resp.Status, bytes.TrimSpace(text))
	}
	return json.Unmarshal(text, out)
}
