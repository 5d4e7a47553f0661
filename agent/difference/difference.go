package difference

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/scrub"
)

// Action is what an apply would do with an object.
type Action string

// The actions.
const (
	Create   Action = "create"
	Update   Action = "update"
	Recreate Action = "recreate"
	Delete   Action = "delete"
	// Run: a hook would run.
	Run Action = "run"
	// Refuse: the object would not be written; Message says why.
	Refuse Action = "refuse"
	// Hold: the object would be deleted once the cause in Message is over.
	Hold Action = "hold"
	// Leave: the object differs and would be left so, or is no longer rendered and
	// stays; Message says why.
	Leave Action = "leave"
)

// Difference is one object that an apply would change.
type Difference struct {
	Ref     kubeobj.Ref
	Version string
	Action  Action
	// Desired and Live are YAML, scrubbed, without the API server's fields and with
	// keyed hashes for the values of Secrets. Empty means that the object does not
	// exist.
	Desired, Live string
	Message       string
}

// Comparison is what an apply would do.
type Comparison struct {
	Differences []Difference
	Unchanged   int
}

// Object is a Difference before its objects became texts. Without an Action there is
// no difference.
type Object struct {
	Difference
	DesiredObject, LiveObject map[string]any
	// Drifted says that an update counts although the texts are equal: another
	// manager owns the fields.
	Drifted bool
}

// secretHash is the displayed length of a secret value's hash. minSecret is the
// shortest value of a Secret that is searched for in other objects.
const (
	secretHash = 8
	minSecret  = 8
)

// Masker hides secret values. It is safe for concurrent use.
type Masker struct{ key []byte }

// NewMasker makes one with its own key.
func NewMasker() *Masker {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return &Masker{key}
}

// Words turns compared objects into texts without secrets. known are the service's
// secrets, more are other secret values, by their name. It changes the objects.
func (m *Masker) Words(all []Object, known *scrub.Scrubber, more map[string]string) Comparison {
	hidden := map[string]string{}
	for name, value := range more {
		if len(value) >= minSecret {
			hidden[name] = value
		}
	}
	for _, c := range all {
		for _, object := range []map[string]any{c.DesiredObject, c.LiveObject} {
			m.hide(c.Ref, object, hidden)
			bare(object)
		}
	}
	found := scrub.New(hidden)
	text := func(object map[string]any) string {
		if object == nil {
			return ""
		}
		raw, err := yaml.Marshal(object)
		if err != nil {
			return ""
		}
		return found.String(known.String(string(raw)))
	}
	var out Comparison
	for _, c := range all {
		c.Desired, c.Live, c.Message = text(c.DesiredObject), text(c.LiveObject), found.String(known.String(c.Message))
		if c.Action == "" || c.Action == Update && c.Desired == c.Live && !c.Drifted {
			out.Unchanged++
			continue
		}
		if c.Action == Delete || c.Action == Hold {
			c.Desired = ""
		}
		out.Differences = append(out.Differences, c.Difference)
	}
	return out
}

// hide replaces the values of a Secret by keyed hashes, and records them so that they
// are found where other objects repeat them.
func (m *Masker) hide(ref kubeobj.Ref, object map[string]any, hidden map[string]string) {
	if object == nil || !ref.IsSecret() {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			value := fmt.Sprint(values[key])
			if plain, err := base64.StdEncoding.DecodeString(value); err == nil && field == "data" {
				value = string(plain)
			}
			if len(value) >= minSecret {
				hidden[fmt.Sprintf("%s/%s.%s#%s", ref.Namespace, ref.Name, key, m.hash(value))] = value
			}
			values[key] = "[hash " + m.hash(value) + "]"
		}
	}
}

func (m *Masker) hash(value string) string {
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil))[:secretHash]
}

// ServerFields are written by the API server and must not be applied.
var ServerFields = []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink", "deletionTimestamp"}

// bare removes the fields that the API server and we write, and copies of the object
// in annotations.
func bare(object map[string]any) {
	if object == nil {
		return
	}
	delete(object, "status")
	meta, _ := object["metadata"].(map[string]any)
	for _, field := range ServerFields {
		delete(meta, field)
	}
	for field, keys := range map[string][]string{
		"labels":      {kubeobj.ManagedLabel},
		"annotations": {kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision"},
	} {
		marks, _ := meta[field].(map[string]any)
		for _, key := range keys {
			delete(marks, key)
		}
		if len(marks) == 0 {
			delete(meta, field)
		}
	}
}
