package kubeclient

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// Unavailable returns the error for an API server that could not be reached.
func Unavailable(err error) error {
	if apierrors.IsUnauthorized(err) {
		return errcode.New(errcode.Unauthorized, "the API server does not accept the agent's credentials (%w): check the agent's service account", err)
	}
	return errcode.New(errcode.Unavailable, "the API server of this cluster does not answer (%w): nothing is changed until it does", err)
}

// Explain turns an API server's refusal of one object into a sentence that says what
// to do.
func Explain(verb string, ref kubeobj.Ref, err error) string {
	text := fmt.Sprintf("%s %s: %s", verb, ref, goStruct.ReplaceAllString(ServerMessage(err), "Invalid value: "))
	switch {
	case tooLarge(err):
		return fmt.Sprintf("%s; Kubernetes accepts objects of about 1.5 MiB at most: split it, or keep large data outside the cluster", text)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Sprintf("%s %s: namespace %s is being deleted; the apply is retried until the namespace is gone and created again", verb, ref, ref.Namespace)
	case len(ImmutableFields(err)) > 0:
		return fmt.Sprintf("%s: cannot change %s in place; annotate the object with %s: \"true\" to have it deleted and made again, or give it a new name",
			text, strings.Join(ImmutableFields(err), ", "), wave.RecreateAnnotation)
	case apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "admission webhook"):
		return text + "; grant it to the account that applies the service"
	case strings.Contains(text, ".sops: field not declared in schema"), strings.Contains(text, `unknown field "sops"`):
		return fmt.Sprintf("%s %s: the manifest is encrypted by SOPS and would be applied as it is: decrypt it, or give the hub a backend of the type sops and take the values from there", verb, ref)
	case strings.Contains(text, ": expected string, got"), notText.MatchString(text):
		return text + "; write the value in quotes"
	case MissingNamespace(err):
		return text + "; render the namespace or turn syncConfig.createNamespace on"
	}
	return text
}

var (
	// goStruct is a value that the API server prints as Go has it: 2 KB for a Job's pods.
	goStruct = regexp.MustCompile(`Invalid value: \*?[a-z0-9]+\.[A-Z][A-Za-z0-9]*\{.*\}: `)
	notText  = regexp.MustCompile(`cannot unmarshal (?:number|bool) into Go (?:struct field [A-Za-z0-9_.]+|value) of type (?:map\[string\])?string`)
)

// tooLarge recognises the errors of the API server and of etcd.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "request is too large") || strings.Contains(err.Error(), "larger than max")
}

// ServerMessage is the text of the API server's answer, without the client's prefix.
func ServerMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// ImmutableFields lists the fields that the API server refused to change.
func ImmutableFields(err error) []string { return fieldsOf(err, immutable) }

// InvalidFields lists all fields that the API server refused.
func InvalidFields(err error) []string {
	return fieldsOf(err, func(cause metav1.StatusCause) bool { return cause.Field != "" })
}

func fieldsOf(err error, which func(metav1.StatusCause) bool) (fields []string) {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, cause := range status.Status().Details.Causes {
		if which(cause) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// Unserved reports whether the API server does not know the resource, as opposed to
// the object's namespace.
func Unserved(err error) bool {
	return apierrors.IsNotFound(err) && strings.Contains(err.Error(), "the server could not find the requested resource")
}

// MissingNamespace reports whether the object's namespace does not exist.
func MissingNamespace(err error) bool {
	return apierrors.IsNotFound(err) && strings.Contains(err.Error(), `namespaces "`)
}

// HeldBy names finalizers as the end of a sentence about a deletion, empty for none.
func HeldBy(finalizers []string) string {
	if len(finalizers) == 0 {
		return ""
	}
	return fmt.Sprintf(": it is held by its finalizers %s, which the controllers that set them remove", strings.Join(finalizers, ", "))
}
