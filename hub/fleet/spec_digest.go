package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

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
		"id":            leafText(in.service.ID),
		"name":          leafText(in.service.Name),
		"namespace":     leafText(in.service.Namespace),
		"project":       leafText(in.service.Project),
		"entry":         leafText(in.service.Desired.Entry),
		"pruneApproval": leafNumber(in.service.PruneApproval),
		"syncRequest":   leafNumber(in.service.SyncRequest),
	}
	// Left out where there was no request, so that older digests stay the same.
	for name, n := range map[string]int64{"diffRequest": in.service.DiffRequest, "machineRequest": in.service.MachineRequest} {
		if n != 0 {
			fields[name] = leafNumber(n)
		}
	}
	for i, resource := range in.service.SyncResources {
		fields["syncResources/"+strconv.Itoa(i)] = leafText(resource)
	}
	for i, p := range in.service.Parts {
		at := "parts/" + strconv.Itoa(i) + "/"
		fields[at+"path"], fields[at+"digest"], fields[at+"entry"] = leafText(p.Path), leafText(p.Digest), leafText(p.Entry)
	}
	if in.values.Own != "" {
		fields["values/own"] = leafText(in.values.Own)
	}
	for at, ids := range map[string]map[string]string{"values/contexts/": in.values.Contexts, "values/imports/": in.values.Imports} {
		for name, id := range ids {
			fields[at+pathPart(name)] = leafText(id)
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
	for _, name := range slices.Sorted(maps.Keys(fields)) {
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
