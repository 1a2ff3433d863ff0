# Where MuJS's jsrun.c changes its stack of calls: a call, its return, an exception that is caught.
/^	J->trace\[J->tracetop\].line = line;$/a\
	hps_script_enter(J->tracetop, name, file, line);
s/^		--J->tracetop;$/& hps_script_leave(J->tracetop);/
s/^		J->tracetop = J->trybuf\[J->trytop\].tracetop;$/& hps_script_leave(J->tracetop);/
