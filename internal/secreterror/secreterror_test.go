package secreterror_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/secreterror"
	"github.com/axle-cd/axle/internal/spelling"
)

const planted = "hunter2-of-somebody"

// answers are refusals as API servers word them, with a value in each.
var answers = map[string]struct {
	status metav1.Status
	want   string
}{
	"server-side apply": {metav1.Status{Reason: metav1.StatusReasonInternalError, Code: 500,
		Message: "failed to create typed patch object (ns/s; /v1, Kind=Secret): errors:\n  .data.a: expected string, got &value.valueUnstructured{Value:\"" + planted + "\"}\n  .data.b-c: expected string, got &{" + planted + "}"},
		".data.a: expected string, .data.b-c: expected string"},
	"validation": {metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422, Message: `Secret "s" is invalid: data[.dockerconfigjson]: Invalid value: "` + planted + `": invalid character`,
		Details: &metav1.StatusDetails{Name: "s", Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[.dockerconfigjson]", Message: `Invalid value: "` + planted + `": invalid character`},
			{Type: metav1.CauseTypeForbidden, Field: "data", Message: "Forbidden: field is immutable when `immutable` is set"},
		}}}, "Secret \"s\" is invalid: data[.dockerconfigjson]: invalid value, data: forbidden: field is immutable when `immutable` is set"},
	"a detail that is a value": {metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "data", Message: `Invalid value: "x: ` + planted + `"`}}}},
		"the Secret is invalid: data: invalid value"},
	"a webhook": {metav1.Status{Reason: metav1.StatusReasonForbidden, Code: 403, Message: `admission webhook "check.example.com" denied the request: the password ` + planted + ` is weak`},
		`admission webhook "check.example.com" denied the request`},
	"a policy": {metav1.Status{Reason: metav1.StatusReasonForbidden, Code: 403, Message: "secrets \"s\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: " + planted},
		"the API server refused the Secret with status 403 Forbidden"},
	"rights": {metav1.Status{Reason: metav1.StatusReasonForbidden, Code: 403, Message: `secrets "s" is forbidden: User "a" cannot patch resource "secrets" in API group "" in the namespace "n"`},
		`secrets "s" is forbidden: User "a" cannot patch resource "secrets" in API group "" in the namespace "n"`},
	"decoding": {metav1.Status{Reason: metav1.StatusReasonBadRequest, Code: 400, Message: `Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 4, error found in #10 byte of ...|` + planted + `|...`},
		"illegal base64 data at input byte 4"},
	"unknown words": {metav1.Status{Reason: metav1.StatusReasonBadRequest, Code: 400, Message: "something new about " + planted},
		"the API server refused the Secret with status 400 BadRequest"},
}

func TestNothingIsQuoted(t *testing.T) {
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			err := secreterror.Of(fmt.Errorf("apply: %w", &apierrors.StatusError{ErrStatus: tt.status}))
			var answer apierrors.APIStatus
			if !errors.As(err, &answer) || answer.Status().Code != tt.status.Code || answer.Status().Reason != tt.status.Reason {
				t.Fatalf("it is another error: %v", err)
			}
			if text := fmt.Sprintf("%v %+v", err, answer.Status()); strings.Contains(text, planted) {
				t.Errorf("it quotes the value: %s", text)
			}
			if got := strings.TrimSuffix(err.Error(), " (the values are left out)"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if err := errors.New("connection refused"); !errors.Is(secreterror.Of(err), err) {
		t.Error("an error that is no answer is another one")
	}
}

// Nothing is looked for, so the spelling does not matter.
func TestNothingIsQuotedInAnySpelling(t *testing.T) {
	for written, spelled := range spelling.Of(spelling.Planted) {
		for name, tt := range answers {
			status := *tt.status.DeepCopy()
			status.Message = strings.ReplaceAll(status.Message, planted, spelled)
			if status.Details != nil {
				for i := range status.Details.Causes {
					status.Details.Causes[i].Message = strings.ReplaceAll(status.Details.Causes[i].Message, planted, spelled)
				}
			}
			for of, err := range map[string]error{
				"a Secret":             secreterror.OfKind("", "Secret", &apierrors.StatusError{ErrStatus: status}),
				"one, asked for twice": secreterror.Of(secreterror.Of(&apierrors.StatusError{ErrStatus: status})),
			} {
				said := fmt.Sprintf("%v %+v", err, err)
				for part := range strings.FieldsSeq(spelled) {
					if len(part) > 3 && strings.Contains(said, part) {
						t.Errorf("%s, %s, of %s: it quotes %q: %s", name, written, of, part, said)
					}
				}
			}
		}
	}
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Message: "of another kind", Reason: metav1.StatusReasonBadRequest}}
	if err := secreterror.OfKind("example.com", "Secret", refused); err.Error() != "of another kind" {
		t.Errorf("the refusal of another group's kind is %v", err)
	}
}

// FuzzNothingIsQuoted puts a value into any place of any sentence.
func FuzzNothingIsQuoted(f *testing.F) {
	for _, tt := range answers {
		f.Add(tt.status.Message, "BadRequest")
		f.Add(tt.status.Message, string(tt.status.Reason))
	}
	f.Fuzz(func(t *testing.T, text, reason string) {
		before, after, found := strings.Cut(text, planted)
		switch metav1.StatusReason(reason) { // their sentences are about names
		case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonInternalError, metav1.StatusReasonUnknown:
		default:
			found = false
		}
		if !found || strings.ContainsAny(before[max(0, len(before)-1):]+after[:min(1, len(after))], ".[:\"_-") {
			return // a name of a field, which is no value
		}
		err := secreterror.Of(&apierrors.StatusError{ErrStatus: metav1.Status{Message: text, Reason: metav1.StatusReason(reason), Code: 400}})
		if strings.Contains(err.Error(), planted) {
			t.Errorf("%q became %q", text, err)
		}
	})
}
