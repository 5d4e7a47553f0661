package health

import "github.com/axle-cd/axle/internal/kubehealth"

// Status is one of six words.
type Status = kubehealth.Status

// The words, from best to worst as Worst compares them.
const (
	Healthy     = kubehealth.Healthy
	Suspended   = kubehealth.Suspended
	Progressing = kubehealth.Progressing
	Missing     = kubehealth.Missing
	Unknown     = kubehealth.Unknown
	Degraded    = kubehealth.Degraded
)

// Worst returns the worse of two.
func Worst(a, b Status) Status { return kubehealth.Worst(a, b) }

// Result is what a rule says of one object.
type Result = kubehealth.Result
