package fleet

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/api/spec/convert"
)

// specDigestPrefix names the format of docs/spec/spec-digest.md.
const specDigestPrefix = "s1:"

// specInputs are all inputs of a spec digest.
type specInputs struct {
	service Service
	// spec is the delivered spec; values names its documents.
	spec   Spec
	values version
	// secrets are the decrypted values of a row that is older than documents.
	secrets map[string]string
	cluster ClusterData
}

// specDigest hashes everything that can change what an agent does with the
// service, except its files. It is keyed, so that nobody who sees it can test
// guessed secrets against it.
func specDigest(key []byte, in specInputs) (string, error) {
	fields := map[string]string{
		"id":            text(in.service.ID),
		"name":          text(in.service.Name),
		"namespace":     text(in.service.Namespace),
		"project":       text(in.service.Project),
		"entry":         text(in.service.Desired.Entry),
		"pruneApproval": number(in.service.PruneApproval),
		"syncRequest":   number(in.service.SyncRequest),
	}
	// Left out where there was no request, so that older digests stay the same.
	if in.service.DiffRequest != 0 {
		fields["diffRequest"] = number(in.service.DiffRequest)
	}
	for i, resource := range in.service.SyncResources {
		fields["syncResources/"+strconv.Itoa(i)] = text(resource)
	}
	for i, p := range in.service.Parts {
		at := "parts/" + strconv.Itoa(i) + "/"
		fields[at+"path"], fields[at+"digest"], fields[at+"entry"] = text(p.Path), text(p.Digest), text(p.Entry)
	}
	if in.values.Own != "" {
		fields["values/own"] = text(in.values.Own)
	}
	for at, ids := range map[string]map[string]string{"values/contexts/": in.values.Contexts, "values/imports/": in.values.Imports} {
		for name, id := range ids {
			fields[at+pathPart(name)] = text(id)
		}
	}
	if limits := in.service.Limits.reaching(in.spec); !limits.Zero() {
		if err := flatten(fields, "limits", limits); err != nil {
			return "", err
		}
	}
	spec := covered(in.spec)
	spec.Secrets = in.secrets
	if err := flatten(fields, "spec", spec); err != nil {
		return "", err
	}
	cluster := map[string]any{
		"id": in.cluster.ID, "handle": in.cluster.Handle, "name": in.cluster.Name, "tags": in.cluster.Tags,
		"metadata": in.cluster.Metadata, "distro": in.cluster.Distro, "kubernetesMinor": in.cluster.KubernetesMinor,
	}
	if err := flatten(fields, "cluster", cluster); err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("axle spec 1\n"))
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		mac.Write(prefixed(name))
		mac.Write(prefixed(fields[name]))
	}
	return specDigestPrefix + hex.EncodeToString(mac.Sum(nil)), nil
}

// forAgents copies the fields that reach agents.
var forAgents = convert.Form{Tag: "agent"}

// covered returns the part of a spec that agents act on. The content digest
// covers where files come from; the documents of the values cover the content of
// contexts, imports and references. The order of contexts and imports is covered
// here.
func covered(s Spec) (out Spec) {
	forAgents.Copy(&out, s)
	return out
}

func prefixed(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func text(s string) string     { return "s" + s }
func number(n int64) string    { return "n" + strconv.FormatInt(n, 10) }
func pathPart(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// flatten adds every leaf of v's JSON under its path. Empty objects and lists
// count, so that "helm: {}" differs from no helm.
func flatten(into map[string]string, at string, v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", at, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return fmt.Errorf("decode %s: %w", at, err)
	}
	walk(into, at, tree)
	return nil
}

func walk(into map[string]string, at string, node any) {
	switch n := node.(type) {
	case map[string]any:
		into[at] = "o"
		for key, value := range n {
			walk(into, at+"/"+pathPart(key), value)
		}
	case []any:
		into[at] = "l" + strconv.Itoa(len(n))
		for i, value := range n {
			walk(into, at+"/"+strconv.Itoa(i), value)
		}
	case string:
		into[at] = text(n)
	case json.Number:
		into[at] = "n" + n.String()
	case bool:
		into[at] = "b" + strconv.FormatBool(n)
	}
}
