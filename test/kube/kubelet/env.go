package kubelet

import (
	"context"
	"fmt"
	"maps"
	"net"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// environment builds a container's variables in the order of a kubelet:
// service variables, envFrom, then env, whose values may refer to what came
// before as $(NAME). Arguments may refer to all of them, and to nothing that a
// container runtime adds.
func (p *pod) environment(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	vars := map[string]string{}
	if host, port, err := net.SplitHostPort(p.k.cfg.APIServer); err == nil {
		vars["KUBERNETES_SERVICE_HOST"], vars["KUBERNETES_SERVICE_PORT"], vars["KUBERNETES_SERVICE_PORT_HTTPS"] = host, port, port
	}
	for _, from := range c.EnvFrom {
		values, err := p.envFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			vars[from.Prefix+key] = value
		}
	}
	for _, e := range c.Env {
		value := expand(e.Value, vars)
		if e.ValueFrom != nil {
			var found bool
			var err error
			if value, found, err = p.valueFrom(ctx, c, e.ValueFrom); err != nil {
				return nil, fmt.Errorf("variable %s: %w", e.Name, err)
			}
			if !found {
				continue
			}
		}
		vars[e.Name] = value
	}
	return vars, nil
}

// variables are those of a process: what a container runtime adds, unless the pod has it.
func (p *pod) variables(c *corev1.Container, vars map[string]string) []string {
	all := map[string]string{
		"PATH":     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":     "/root",
		"HOSTNAME": p.object.Name,
	}
	if p.identity(c).uid != 0 {
		all["HOME"] = "/"
	}
	maps.Copy(all, vars)
	env := make([]string, 0, len(all))
	for key, value := range all {
		env = append(env, key+"="+value)
	}
	sort.Strings(env)
	return env
}

func (p *pod) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.SecretRef != nil:
		data, err := p.secret(ctx, from.SecretRef.Name, from.SecretRef.Optional)
		return texts(data), err
	case from.ConfigMapRef != nil:
		data, err := p.configMap(ctx, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
		return texts(data), err
	}
	return nil, nil
}

func texts(data map[string][]byte) map[string]string {
	values := map[string]string{}
	for key, value := range data {
		values[key] = string(value)
	}
	return values
}

func (p *pod) valueFrom(ctx context.Context, c *corev1.Container, from *corev1.EnvVarSource) (string, bool, error) {
	switch {
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := p.secret(ctx, ref.Name, ref.Optional)
		return pick(data, ref.Key, "secret "+ref.Name, ref.Optional, err)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := p.configMap(ctx, ref.Name, ref.Optional)
		return pick(data, ref.Key, "configmap "+ref.Name, ref.Optional, err)
	case from.FieldRef != nil:
		value, err := p.field(from.FieldRef.FieldPath)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err := resourceField(c, from.ResourceFieldRef)
		return value, err == nil, err
	}
	return "", false, nil
}

func pick(data map[string][]byte, key, where string, optional *bool, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, ok := data[key]
	if !ok && !isTrue(optional) {
		return "", false, fmt.Errorf("%s has no key %s", where, key)
	}
	return string(value), ok, nil
}

// secret reads a Secret's data; an optional one that is missing is empty.
func (p *pod) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	secret, err := p.k.cfg.Client.CoreV1().Secrets(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// configMap reads a ConfigMap's data; an optional one that is missing is empty.
func (p *pod) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	object, err := p.k.cfg.Client.CoreV1().ConfigMaps(p.object.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for key, value := range object.BinaryData {
		data[key] = value
	}
	for key, value := range object.Data {
		data[key] = []byte(value)
	}
	return data, nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// field is the downward API, with the labels and annotations of now.
func (p *pod) field(path string) (string, error) {
	meta := p.meta.Load()
	if name, key, ok := strings.Cut(strings.TrimSuffix(path, "']"), "['"); ok {
		switch name {
		case "metadata.labels":
			return meta.Labels[key], nil
		case "metadata.annotations":
			return meta.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return p.object.Name, nil
	case "metadata.namespace":
		return p.object.Namespace, nil
	case "metadata.uid":
		return string(p.object.UID), nil
	case "metadata.labels":
		return lines(meta.Labels), nil
	case "metadata.annotations":
		return lines(meta.Annotations), nil
	case "spec.nodeName":
		return p.object.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return p.object.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return p.ip, nil
	case "status.hostIP", "status.hostIPs":
		return hostIP, nil
	}
	return "", fmt.Errorf("field %s is not known", path)
}

func lines(values map[string]string) string {
	var all []string
	for key, value := range values {
		all = append(all, key+"="+strconv.Quote(value))
	}
	sort.Strings(all)
	return strings.Join(all, "\n")
}

// resourceField returns requests and limits in bytes and in cores, rounded up. A
// missing limit is the node's capacity.
func resourceField(c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	kind, name, _ := strings.Cut(ref.Resource, ".")
	list := c.Resources.Limits
	if kind == "requests" {
		list = c.Resources.Requests
	}
	quantity, ok := list[corev1.ResourceName(name)]
	if !ok && kind == "limits" {
		quantity, ok = capacity()[corev1.ResourceName(name)]
	}
	if !ok {
		return "", fmt.Errorf("container %s has no %s", c.Name, ref.Resource)
	}
	divisor := ref.Divisor.MilliValue()
	if divisor == 0 {
		divisor = 1000
	}
	return strconv.FormatInt((quantity.MilliValue()+divisor-1)/divisor, 10), nil
}

// expand replaces $(NAME) by a variable that is known; $$ is a dollar sign.
func expand(text string, vars map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		if text[i+1] == '$' {
			out.WriteByte('$')
			i++
			continue
		}
		if end := strings.IndexByte(text[i:], ')'); text[i+1] == '(' && end > 0 {
			if value, ok := vars[text[i+2:i+end]]; ok {
				out.WriteString(value)
				i += end
				continue
			}
		}
		out.WriteByte('$')
	}
	return out.String()
}
