package controlplane

import (
	"fmt"
	"io"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// setUpLogging sends the lines of Kubernetes' logger, which all parts share, to w. It can be done once in a process.
func setUpLogging(w io.Writer) error {
	err := logsapi.ValidateAndApplyWithOptions(logsapi.NewLoggingConfiguration(),
		&logsapi.LoggingOptions{ErrorStream: w, InfoStream: w}, utilfeature.DefaultFeatureGate)
	if err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	return nil
}
