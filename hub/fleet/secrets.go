package fleet

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// valueReader opens the values of services.
type valueReader struct {
	sealer        Sealer
	configuration Configuration
	// key is the hub's key for digests.
	key []byte
	log *slog.Logger
}

func secretsPurpose(serviceID string) string { return "service-secrets/" + serviceID }

// openSealed returns the secrets of a row that is older than documents.
func (f *valueReader) openSealed(serviceID, sealed string) (map[string]string, error) {
	if sealed == "" {
		return nil, nil
	}
	plain, err := f.sealer.Open(sealed, secretsPurpose(serviceID))
	if err != nil {
		return nil, fmt.Errorf("open the secrets of service %s: %w", serviceID, err)
	}
	var values map[string]string
	if err := json.Unmarshal(plain, &values); err != nil {
		return nil, fmt.Errorf("read the secrets of service %s: they are damaged", serviceID)
	}
	return values, nil
}

// openOwn decrypts the values that only this service has.
func (f *valueReader) openOwn(ctx context.Context, v version, serviceID string) (own ownValues, err error) {
	if v.Own == "" {
		own.Secrets, err = f.openSealed(serviceID, v.sealed)
		return own, err
	}
	documents, failed := f.configuration.Open(ctx, []string{v.Own})
	if err := failed[v.Own]; err != nil {
		return own, err
	}
	return own, decode(documents[v.Own], &own)
}

func decode(document []byte, into any) error {
	if err := json.Unmarshal(document, into); err != nil {
		// The cause may quote what it read.
		return errcode.New(errcode.Internal, "a document of values cannot be read; set the values again")
	}
	return nil
}

// openVersion merges the documents that a version names; failed holds the
// errors of those that could not be read.
func (f *valueReader) openVersion(serviceID string, v version, documents map[string][]byte, failed map[string]error) (o opened, err error) {
	for _, id := range v.documents() {
		if err := failed[id]; err != nil {
			return o, err
		}
	}
	if v.Own == "" {
		o.own.Secrets, err = f.openSealed(serviceID, v.sealed)
	} else {
		err = decode(documents[v.Own], &o.own)
	}
	if err != nil {
		return o, err
	}
	valueSets := func(ids map[string]string) (map[string]ValueSet, error) {
		all := make(map[string]ValueSet, len(ids))
		for name, id := range ids {
			var b ValueSet
			if err := decode(documents[id], &b); err != nil {
				return nil, err
			}
			all[name] = b
		}
		return all, nil
	}
	if o.contexts, err = valueSets(v.Contexts); err != nil {
		return o, err
	}
	o.imports, err = valueSets(v.Imports)
	return o, err
}

// fill adds the values to an agent's spec.
func (a *AgentSpec) fill(o opened) (err error) {
	layers, err := o.layers(a.Service.Spec, a.Cluster)
	if err != nil {
		return err
	}
	a.Configuration, a.Secrets, a.Hidden = map[string]string{}, map[string]string{}, map[string]string{}
	for key, all := range layers {
		if all[0].Secret {
			a.Secrets[key] = all[0].Value
		} else {
			a.Configuration[key] = all[0].Value
		}
	}
	for kind, valueSets := range map[string]map[string]ValueSet{"contexts": o.contexts, "imports": o.imports} {
		for name, b := range valueSets {
			for key, value := range b.Secrets {
				a.Hidden[kind+"."+name+"."+key] = value
			}
		}
	}
	hideValues(a.Hidden, specv1.ChartValues, specrules.ChartValues(a.Secrets[specv1.ChartValues]))
	if a.Contexts, err = valueSetsJSON(o.contexts); err != nil {
		return err
	}
	a.Imports, err = valueSetsJSON(o.imports)
	return err
}

// hideValues adds the values in the secret with values of the chart: texts quote one of
// them, and never the whole.
func hideValues(hidden map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			hideValues(hidden, path+"."+key, below)
		}
	case []any:
		for i, below := range value {
			hideValues(hidden, fmt.Sprintf("%s[%d]", path, i), below)
		}
	case string:
		hidden[path] = value
	case json.Number:
		hidden[path] = value.String()
	}
}

// fillAll reads the values of several specs at once. Specs whose values cannot
// be read now are left out, so that the others need not wait for them.
func (f *valueReader) fillAll(ctx context.Context, specs []AgentSpec, texts []string) []AgentSpec {
	versions := make([]version, len(specs))
	var ids []string
	for i, text := range texts {
		v, err := parseVersion(text)
		if err != nil {
			v = version{Own: "damaged"}
		}
		versions[i] = v
		ids = append(ids, v.documents()...)
	}
	documents, failed := f.configuration.Open(ctx, ids)
	filled := specs[:0]
	for i, a := range specs {
		o, err := f.openVersion(a.Service.ID, versions[i], documents, failed)
		if err == nil {
			err = a.fill(o)
		}
		if err != nil {
			f.log.Error("the configuration of a service cannot be read, and its cluster keeps what it has", logkey.Service, a.Service.ID, logkey.Error, err)
			continue
		}
		filled = append(filled, a)
	}
	return filled
}

// ConfigValue is one key of a service's configuration.
type ConfigValue struct {
	Key string
	// Layers are all layers that have the key, the winning one first. Values of
	// secrets are left out.
	Layers []LayerValue
	// Hashes belong to the layers: a short hash of each secret's value, keyed by the service
	// and the key. Former are the hashes of version 1, keyed by the hub alone, which compare
	// values of all services: only who may change the service may see them.
	Hashes, Former []string
}

// ServiceConfig returns what templates see as configuration at the current
// revision, and where each value comes from.
func (f *Fleet) ServiceConfig(ctx context.Context, ref Ref) (revision int64, values map[string]ConfigValue, err error) {
	var s StoredService
	var spec Spec
	var text string
	var cluster Cluster
	err = f.store.Read(ctx, func(ctx context.Context) (err error) {
		if s, err = f.serviceFor(ctx, ref); err != nil {
			return err
		}
		if cluster, err = f.store.ClusterByID(ctx, s.ClusterID); err != nil {
			return err
		}
		spec, text, err = f.delivered(ctx, s)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	v, err := parseVersion(text)
	if err != nil {
		return 0, nil, err
	}
	documents, failed := f.configuration.Open(ctx, v.documents())
	o, err := f.openVersion(s.ID, v, documents, failed)
	if err != nil {
		return 0, nil, err
	}
	layers, err := o.layers(spec, cluster.Data())
	if err != nil {
		return 0, nil, err
	}
	values = make(map[string]ConfigValue, len(layers))
	for key, all := range layers {
		c := ConfigValue{Key: key, Layers: all, Hashes: make([]string, len(all)), Former: make([]string, len(all))}
		for i := range all {
			if all[i].Secret {
				c.Hashes[i] = f.shortHash("axle secret of a service", 8, s.ID, key, all[i].Value)
				c.Former[i] = f.shortHash("axle shown secret", 4, all[i].Value)
				all[i].Value = ""
			}
		}
		values[key] = c
	}
	return s.Revision, values, nil
}

// shortHash shows whether a value changed, and nothing else. Of texts other than the last,
// none has a line break.
func (f *valueReader) shortHash(purpose string, bytes int, texts ...string) string {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(purpose + "\n" + strings.Join(texts, "\n")))
	return hex.EncodeToString(mac.Sum(nil)[:bytes])
}
