package liveapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// dots begin what stands for a Secret's value; its size follows.
const dots = "••••••••"

// maxMasked bounds what a page of Secrets becomes: its text has at most 32 MiB.
const maxMasked = 128 << 20

// lastApplied is the annotation in which kubectl apply keeps a copy of an object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func secrets(o *hubv1.ClusterObjects) bool {
	return o.GetGroup() == "" && o.GetResource() == "secrets"
}

// masked returns the answer about some objects without the values of Secrets, whose keys
// and sizes stay, but for one key of data. What cannot be read is an error: it may hold
// a value.
func masked(o *hubv1.ClusterObjects, text []byte, reveal string) ([]byte, error) {
	if !secrets(o) || len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	var object map[string]any
	if err := bounded.CheckJSON(text, &object, maxMasked); err != nil {
		return nil, errcode.New(errcode.Unprocessable, "the cluster's answer about Secrets: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, errcode.New(errcode.Unavailable, "the cluster's answer about Secrets is not JSON")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errcode.New(errcode.Unavailable, "the cluster's answer about Secrets is more than one object")
	}
	mask(object, reveal)
	return json.Marshal(object)
}

// mask goes through a Secret, a list of them, and a Table, whose rows hold metadata.
func mask(object map[string]any, reveal string) {
	for _, of := range []string{"items", "rows"} {
		list, _ := object[of].([]any)
		for _, one := range list {
			if o, ok := one.(map[string]any); ok {
				mask(o, reveal)
			}
		}
	}
	if row, ok := object["object"].(map[string]any); ok {
		mask(row, reveal)
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for key, value := range values {
			if field == "data" && reveal != "" && key == reveal {
				continue
			}
			values[key] = stands(field, value)
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, copied := annotations[lastApplied]; copied {
		annotations[lastApplied] = dots
	}
}

// stands is what stands for a value.
func stands(field string, value any) string {
	text, _ := value.(string)
	size := len(text)
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
		size = len(raw)
	}
	return fmt.Sprintf("%s (%d bytes)", dots, size)
}

// checkMasks refuses to write what stands for a value.
func checkMasks(o *hubv1.ClusterObjects, object string) error {
	if !secrets(o) || !strings.Contains(object, dots) {
		return nil
	}
	var s struct {
		Data       map[string]any `json:"data"`
		StringData map[string]any `json:"stringData"`
	}
	// What is no YAML is refused where it is sent.
	if err := yaml.Unmarshal([]byte(object), &s); err != nil {
		return errcode.New(errcode.Invalid, "the Secret is not YAML or JSON: %w", err)
	}
	for field, values := range map[string]map[string]any{"data": s.Data, "stringData": s.StringData} {
		for key, value := range values {
			if text, _ := value.(string); strings.HasPrefix(text, dots) {
				return errcode.New(errcode.Invalid, "%s.%.80s is what stands for a value that is not shown; write the value, or leave the key out of a patch", field, key)
			}
		}
	}
	return errcode.New(errcode.Invalid, "the Secret holds %s, which stands for what is not shown; leave it out", dots)
}
