package liveapi

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/taken"
)

const planted = "planted-4711"

var ofSecrets = &hubv1.ClusterObjects{Version: "v1", Resource: "secrets"}

func TestValuesOfSecretsStayOnTheHub(t *testing.T) {
	value := base64.StdEncoding.EncodeToString([]byte(planted))
	secret := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","resourceVersion":"9007199254740993","annotations":{"note":"kept","kubectl.kubernetes.io/last-applied-configuration":"{\"stringData\":{\"password\":\"` + planted + `\"}}"}},"data":{"password":"` + value + `","empty":"","user":"a2lt"},"stringData":{"plain":"` + planted + `"}}`
	for name, text := range map[string]string{
		"an object": secret,
		"a list":    `{"kind":"SecretList","apiVersion":"v1","metadata":{"continue":"more"},"items":[` + secret + `]}`,
		"a table":   `{"kind":"Table","columnDefinitions":[],"rows":[{"cells":["s"],"object":` + secret + `}]}`,
		"a nothing": ``,
	} {
		got, err := masked(ofSecrets, []byte(text), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, one := range []string{planted, value, "a2lt"} {
			if strings.Contains(string(got), one) {
				t.Errorf("%s: the answer holds %s: %s", name, one, got)
			}
		}
		if text == "" {
			continue
		}
		for _, one := range []string{`"password":"•••••••• (12 bytes)"`, `"user":"•••••••• (3 bytes)"`, `"empty":"•••••••• (0 bytes)"`, `"note":"kept"`, `"9007199254740993"`} {
			if !strings.Contains(string(got), one) {
				t.Errorf("%s: the answer lacks %s: %s", name, one, got)
			}
		}
	}
	got, err := masked(ofSecrets, []byte(secret), "user")
	if err != nil || !strings.Contains(string(got), `"user":"a2lt"`) || strings.Contains(string(got), value) || strings.Contains(string(got), planted) {
		t.Errorf("one key revealed: %s, %v", got, err)
	}
	for _, broken := range []string{`{"data":{"password":"` + value, secret + secret, `["` + value + `"]`} {
		if got, err := masked(ofSecrets, []byte(broken), ""); err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%s passes as %s, %v", broken, got, err)
		}
	}
	maps := &hubv1.ClusterObjects{Version: "v1", Resource: "configmaps"}
	if got, err := masked(maps, []byte(secret), ""); err != nil || string(got) != secret {
		t.Errorf("other kinds are changed: %s, %v", got, err)
	}
}

func FuzzMaskedSecret(f *testing.F) {
	for _, seed := range []string{`{"data":{"a":"SEED"}}`, `{"items":[{"data":{"a":"SEED"}},null]}`, `{"rows":[{"object":{"stringData":{"b":"SEED"}}}]}`, `{"data":["SEED"]}`, `[]`, `null`, `{"metadata":null}`} {
		f.Add(strings.ReplaceAll(seed, "SEED", "cGxhbnRlZA=="))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := masked(ofSecrets, []byte(text), ""); err == nil && strings.TrimSpace(text) != "" {
			again, err := masked(ofSecrets, got, "no such key")
			if err != nil || len(again) == 0 {
				t.Errorf("%q becomes %q, which is not read again: %v", text, got, err)
			}
		}
	})
}

// FuzzWrites reads any text as an object that is written by each verb, and as a page that a
// cluster answers.
func FuzzWrites(f *testing.F) {
	for _, text := range []string{"data: {a: b}\n", "a: &a [1]\nb: *a\n", `{"stringData":{"a":"••••••••"}}`, `{"metadata":{"continue":"c","resourceVersion":"7"},"items":[]}`, "- a\n- b: [\n", "null", "? {a: b}\n: c\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		taken.Few(t, 4*len(text), func() {
			for verb := range verbs {
				_, _, body, err := readWrite(&hubv1.WriteClusterObjectRequest{Objects: ofSecrets, Verb: verb, Name: "s", Object: text})
				if err == nil && verb == "patch" && !json.Valid(body) {
					t.Errorf("%q is sent as %q", text, body)
				}
			}
			if page, err := pageOf([]byte(text)); err == nil && page.GetContinue() != "" && !json.Valid([]byte(text)) {
				t.Errorf("%q is a page", text)
			}
		})
	})
}

func TestWhatStandsForAValueIsNotWritten(t *testing.T) {
	for name, tc := range map[string]struct{ object, want string }{
		"data":          {"kind: Secret\ndata:\n  password: •••••••• (12 bytes)\n", "data.password is what stands for a value"},
		"stringData":    {"stringData: {user: '•••••••• (3 bytes)'}", "stringData.user is what stands for a value"},
		"JSON":          {`{"data":{"password":"•••••••• (12 bytes)"}}`, "data.password is what stands for a value"},
		"an annotation": {"metadata:\n  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: ••••••••\n", "stands for what is not shown"},
		"no YAML":       {"data: [\n••••••••", "not YAML or JSON"},
		"a value":       {"data:\n  password: a2lt\n", ""},
	} {
		err := checkMasks(ofSecrets, tc.object)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	if err := checkMasks(&hubv1.ClusterObjects{Version: "v1", Resource: "configmaps"}, "data: {art: ••••••••}"); err != nil {
		t.Errorf("a ConfigMap is refused: %v", err)
	}
	if _, _, _, err := readWrite(&hubv1.WriteClusterObjectRequest{Objects: ofSecrets, Verb: "update", Name: "s", Object: "data: {a: ••••••••}"}); err == nil {
		t.Error("the check is not made before a write")
	}
	// A patch is made JSON in the hub: aliases would make a megabyte of it gigabytes.
	large := "a: &a " + strings.Repeat("x", 10_000) + "\nb:\n" + strings.Repeat("- *a\n", 1000)
	if _, _, _, err := readWrite(&hubv1.WriteClusterObjectRequest{Objects: &hubv1.ClusterObjects{Version: "v1", Resource: "configmaps"}, Verb: "patch", Name: "s", Object: large}); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("a patch that aliases make large: %v", err)
	}
}
