package main

import (
	"context"
	"io"

	"github.com/pharos-dev/pharos/lifecycle"
	"github.com/pharos-dev/pharos/lifecycle/standard"
)

// parkedFields are the workloads of the applied receipt that are restarted no more.
type parkedFields struct {
	Workloads []standard.ParkedWorkload `json:"workloads,omitempty"`
	// Unknown says why it is not known which there are.
	Unknown string `json:"unknown,omitempty"`
}

func (o *statusOptions) parked(ctx context.Context, so standard.Options, st lifecycle.Status) parkedFields {
	if st.Applied == nil {
		return parkedFields{}
	}
	workloads, err := standard.ParkedWorkloads(ctx, so, st.Applied.Record.Objects)
	if err != nil {
		return parkedFields{Unknown: err.Error()}
	}
	return parkedFields{Workloads: workloads}
}

func (p parkedFields) print(w io.Writer) {
	for _, workload := range p.Workloads {
		linef(w, "  %s: %s", lifecycle.ObjectName(workload.Object), workload)
		linef(w, "    once it is mended: %s", workload.Unpark)
	}
	if p.Unknown != "" {
		linef(w, "  which workloads are parked is not known: %s", indent(p.Unknown))
	}
}
