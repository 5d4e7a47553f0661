package upgrade

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	recordName   = "axle-agent-upgrade"
	recordKey    = "upgrade"
	candidateKey = "candidate"
	partOf       = "app.kubernetes.io/part-of"
	callTimeout  = 15 * time.Second
)

// phase says which agent works.
type phase string

const (
	// none: the installed agent works.
	none phase = ""
	// candidateRenders: the installed agent works, the candidate renders. Earlier
	// versions of the agent read the stored word.
	candidateRenders phase = "Shadow"
	// handed: the candidate works, the installed agent watches.
	handed phase = "Handed"
	// committing: the same, and the installed agent is being replaced.
	committing phase = "Committing"
	// reverting: the installed agent did not start; the candidate works until the
	// previous version is installed again and asks for the work.
	reverting phase = "Reverting"
	// returning: the installed agent is the new version and asks for the work.
	returning phase = "Returning"
)

// record is the installed agent's side of the ConfigMap.
type record struct {
	Phase phase `json:"phase,omitempty"`
	// Key names the hub's request.
	Key     string    `json:"key,omitempty"`
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since"`
	// Deployment is the wanted Deployment, as JSON.
	Deployment json.RawMessage `json:"deployment,omitempty"`
	// Previous is the Deployment that it replaced.
	Previous json.RawMessage `json:"previous,omitempty"`
	// FailedKey is the request that did not work, Failure the reason.
	FailedKey string `json:"failedKey,omitempty"`
	Failure   string `json:"failure,omitempty"`
}

// state is how far a candidate got.
type state string

const (
	rendering state = "Shadowing"
	ready     state = "Ready"
	working   state = "Working"
	good      state = "Good"
	done      state = "Done"
	failed    state = "Failed"
)

// word is the candidate's side of the ConfigMap.
type word struct {
	Key       string    `json:"key,omitempty"`
	State     state     `json:"state,omitempty"`
	Message   string    `json:"message,omitempty"`
	Services  int       `json:"services,omitempty"`
	Different int       `json:"different,omitempty"`
	At        time.Time `json:"at"`
}

// read returns both sides. A candidate's side for another upgrade is ignored.
func (k *Keeper) read(ctx context.Context) (record, word, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	m, err := k.config.Client.CoreV1().ConfigMaps(k.config.Namespace).Get(ctx, recordName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return record{}, word{}, nil
	}
	if err != nil {
		return record{}, word{}, errcode.New(errcode.Unavailable, "read ConfigMap %s/%s: %w", k.config.Namespace, recordName, err)
	}
	r, w := parse(m)
	return r, w, nil
}

// parse ignores what it cannot parse: then the installed agent works.
func parse(m *corev1.ConfigMap) (record, word) {
	var r record
	if json.Unmarshal([]byte(m.Data[recordKey]), &r) != nil {
		r = record{}
	}
	var w word
	if json.Unmarshal([]byte(m.Data[candidateKey]), &w) != nil || w.Key != r.Key {
		w = word{}
	}
	return r, w
}

// change writes one side. fn sees both sides as they are and may decide to write
// nothing; it runs again if somebody else wrote meanwhile.
func (k *Keeper) change(ctx context.Context, fn func(r *record, w *word) bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	maps := k.config.Client.CoreV1().ConfigMaps(k.config.Namespace)
	for {
		m, err := maps.Get(ctx, recordName, metav1.GetOptions{})
		fresh := apierrors.IsNotFound(err)
		if fresh {
			m, err = &corev1.ConfigMap{}, nil
			m.Name, m.Namespace, m.Labels = recordName, k.config.Namespace, map[string]string{partOf: "axle"}
		}
		if err != nil {
			return errcode.New(errcode.Unavailable, "read ConfigMap %s/%s: %w", k.config.Namespace, recordName, err)
		}
		r, w := parse(m)
		if !fn(&r, &w) {
			return nil
		}
		if m.Data == nil {
			m.Data = map[string]string{}
		}
		for key, side := range map[string]any{recordKey: r, candidateKey: w} {
			text, err := json.Marshal(side)
			if err != nil {
				return err
			}
			m.Data[key] = string(text)
		}
		if fresh {
			_, err = maps.Create(ctx, m, metav1.CreateOptions{})
		} else {
			_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return errcode.New(errcode.Unavailable, "write ConfigMap %s/%s: %w", k.config.Namespace, recordName, err)
		}
		return nil
	}
}
