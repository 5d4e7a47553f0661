package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/axle-cd/axle/api/spec/convert"
	"github.com/axle-cd/axle/hub/fleet/leaves"
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
		"id":            leaves.Text(in.service.ID),
		"name":          leaves.Text(in.service.Name),
		"namespace":     leaves.Text(in.service.Namespace),
		"project":       leaves.Text(in.service.Project),
		"entry":         leaves.Text(in.service.Desired.Entry),
		"pruneApproval": leaves.Number(in.service.PruneApproval),
		"syncRequest":   leaves.Number(in.service.SyncRequest),
	}
	// Left out where there was no request, so that older digests stay the same.
	if in.service.DiffRequest != 0 {
		fields["diffRequest"] = leaves.Number(in.service.DiffRequest)
	}
	for i, resource := range in.service.SyncResources {
		fields["syncResources/"+strconv.Itoa(i)] = leaves.Text(resource)
	}
	for i, p := range in.service.Parts {
		at := "parts/" + strconv.Itoa(i) + "/"
		fields[at+"path"], fields[at+"digest"], fields[at+"entry"] = leaves.Text(p.Path), leaves.Text(p.Digest), leaves.Text(p.Entry)
	}
	if in.values.Own != "" {
		fields["values/own"] = leaves.Text(in.values.Own)
	}
	for at, ids := range map[string]map[string]string{"values/contexts/": in.values.Contexts, "values/imports/": in.values.Imports} {
		for name, id := range ids {
			fields[at+leaves.PathPart(name)] = leaves.Text(id)
		}
	}
	if limits := in.service.Limits.reaching(in.spec); !limits.Zero() {
		if err := leaves.Flatten(fields, "limits", limits); err != nil {
			return "", err
		}
	}
	spec := covered(in.spec)
	spec.Secrets = in.secrets
	if err := leaves.Flatten(fields, "spec", spec); err != nil {
		return "", err
	}
	cluster := map[string]any{
		"id": in.cluster.ID, "handle": in.cluster.Handle, "name": in.cluster.Name, "tags": in.cluster.Tags,
		"metadata": in.cluster.Metadata, "distro": in.cluster.Distro, "kubernetesMinor": in.cluster.KubernetesMinor,
	}
	if err := leaves.Flatten(fields, "cluster", cluster); err != nil {
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
		mac.Write(leaves.Prefixed(name))
		mac.Write(leaves.Prefixed(fields[name]))
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
