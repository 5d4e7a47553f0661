// Package secreterror takes out of an API server's refusal of a Secret what it quotes of the
// Secret. API servers quote values in many spellings: as Go prints them, cut, as JSON, within
// the sentence of a webhook. So nothing is looked for: only words are kept that are known to
// be the API server's own, names of fields, and the reason.
//
// It does not know values, and does not look at errors of other kinds: package scrub removes
// a service's own secrets from those.
package secreterror

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	// path is a field in the words of server-side apply or of validation: keys of a Secret
	// have only these characters.
	path = `(?:\.?[A-Za-z][A-Za-z0-9]*|\.[A-Za-z0-9_.-]+|\["?[A-Za-z0-9_.-]+"?\])(?:\.[A-Za-z0-9_-]+|\["?[A-Za-z0-9_.-]+"?\]|\.f:[A-Za-z0-9_.-]+)*`
	// known are sentences that quote no value, as server-side apply and the decoders say them.
	known = regexp.MustCompile(path + `: (?:expected [a-z]+\b|field not declared in schema|element [0-9]+: associative list[a-z ]*)` +
		`|unknown field "[A-Za-z0-9_.\[\]-]+"` +
		`|illegal base64 data at input byte [0-9]+` +
		`|cannot unmarshal (?:string|number|bool|array|object) into Go (?:struct field [A-Za-z0-9_.]+ of type \S+|value of type \S+)`)
	// detail is the end of a cause after its value, when it is one of the API server's sentences.
	detail = regexp.MustCompile(`: ((?:field is immutable|must |may not |a valid |immutable )[A-Za-z0-9 ,.()'` + "`" + `_\[\]+*?\\-]*)$`)
	// webhook is the beginning of a denial; a webhook's own words may quote anything.
	webhook = regexp.MustCompile(`^admission webhook "[A-Za-z0-9_.-]+" denied the request`)
)

// leftOut ends a text of which something was left out.
const leftOut = " (the values are left out)"

// Of returns the error of a request about a Secret without what it quotes. Errors that are no
// answer of an API server stay as they are; so do the status, its reason and its fields.
func Of(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	quoting := answer.Status()
	status := *quoting.DeepCopy()
	var causes []metav1.StatusCause
	if status.Details != nil {
		causes = status.Details.Causes
		for i := range causes {
			causes[i].Message = words(causes[i])
		}
	}
	status.Message = message(status, causes)
	return &apierrors.StatusError{ErrStatus: status}
}

// OfKind is Of for the error of a request about an object of a group and a kind, which may
// be a Secret.
func OfKind(group, kind string, err error) error {
	if group == "" && kind == "Secret" {
		return Of(err)
	}
	return err
}

// message is the text of the whole answer.
func message(s metav1.Status, causes []metav1.StatusCause) string {
	switch s.Reason {
	case metav1.StatusReasonInvalid:
		text := subject(s) + " is invalid"
		for i, c := range causes {
			text += map[bool]string{true: ": ", false: ", "}[i == 0] + strings.TrimPrefix(c.Field+": ", ": ") + c.Message
		}
		return text + leftOut
	case metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict, metav1.StatusReasonUnauthorized,
		metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonTooManyRequests, metav1.StatusReasonServerTimeout, metav1.StatusReasonTimeout:
		return s.Message // about names, sizes and times
	case metav1.StatusReasonForbidden:
		if !strings.Contains(s.Message, "admission webhook") && !strings.Contains(s.Message, "ValidatingAdmissionPolicy") {
			return s.Message
		}
	}
	if begins := webhook.FindString(s.Message); begins != "" {
		return begins + leftOut
	}
	found := known.FindAllString(s.Message, 10)
	if strings.Contains(s.Message, "request is too large") {
		found = append(found, "the request is too large")
	}
	if len(found) == 0 {
		return fmt.Sprintf("the API server refused %s with status %d %s%s", subject(s), s.Code, s.Reason, leftOut)
	}
	return strings.Join(found, ", ") + leftOut
}

// subject names what was refused.
func subject(s metav1.Status) string {
	if s.Details == nil || s.Details.Name == "" {
		return "the Secret"
	}
	return fmt.Sprintf("Secret %q", s.Details.Name)
}

// words are what a cause says without its value.
func words(c metav1.StatusCause) string {
	kind := map[metav1.CauseType]string{
		metav1.CauseTypeFieldValueInvalid: "invalid value", metav1.CauseTypeFieldValueRequired: "required value",
		metav1.CauseTypeFieldValueNotFound: "not found", metav1.CauseTypeFieldValueDuplicate: "duplicate value",
		metav1.CauseTypeFieldValueNotSupported: "unsupported value", metav1.CauseTypeForbidden: "forbidden", metav1.CauseTypeTooLong: "too long",
		metav1.CauseTypeTypeInvalid: "of another type",
	}[c.Type]
	if kind == "" {
		kind = string(c.Type)
	}
	if m := detail.FindStringSubmatch(c.Message); m != nil {
		kind += ": " + m[1]
	}
	return kind
}
